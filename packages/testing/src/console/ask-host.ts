import { type IncomingHttpHeaders, request } from 'node:http'

/** What a host of the service has answered. */
export interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Asks the service for a host as a browser would, without asking for the host's address. */
export function askHost(
  url: URL | string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Got> {
  const { host, pathname, search, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<Got>()
  const outgoing = request({ host: '127.0.0.1', port, path: pathname + search, method, headers: { host, ...headers } })
  outgoing.on('response', response => {
    let text = ''
    response.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
  })
  outgoing.on('error', reject)
  outgoing.end(body)
  return promise
}
