import { request } from 'node:http'

/** A stream read by a socket and a scan for lines, so that the reader costs little. */
export interface RawStream {
  close(): void
  readonly ended: Promise<void>
}

export function openStream(
  url: string,
  apiKey: string,
  options: { lastEventId?: number; onOpen?: () => void; onFrame: (sequence: number, frame: string) => void },
): RawStream {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const headers: Record<string, string> = { authorization: `Bearer ${apiKey}` }
  if (options.lastEventId !== undefined) headers['last-event-id'] = String(options.lastEventId)
  const call = request(url, { headers, agent: false }, response => {
    if (response.statusCode !== 200) throw new Error(`a stream answered ${response.statusCode}`)
    options.onOpen?.()
    let rest = ''
    response.setEncoding('latin1')
    response.on('data', (chunk: string) => {
      rest += chunk
      for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
        if (rest.startsWith('id: ')) options.onFrame(Number(rest.slice(4, rest.indexOf('\n'))), rest.slice(0, end))
        rest = rest.slice(end + 2)
      }
    })
    response.on('close', resolve)
  })
  call.on('error', () => resolve())
  call.end()
  return { close: () => call.destroy(), ended }
}
