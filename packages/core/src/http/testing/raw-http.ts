import { connect } from 'node:net'

/**
 * Sends bytes to a loopback port and reads until the other side closes. It can send bytes that no HTTP client would.
 */
export function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      received += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}

/** Builds a request with these header lines, on a connection that closes after it. */
export const rawRequest = (method: string, target: string, headers: readonly string[], body = '') =>
  [`${method} ${target} HTTP/1.1`, 'Host: test', 'Connection: close', ...headers, '', body].join('\r\n')

/** Returns the status and JSON body of a raw response. */
export function readRaw(response: string): { readonly status: number; readonly body: unknown } {
  const [head = '', body = ''] = response.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body.match(/\{.*\}/s)?.[0] ?? 'null') }
}
