import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** A site that has pages of its own and passes everything below `/v1` on, as an app's server does: the API sends no CORS. */
export interface SameOrigin extends AsyncDisposable {
  readonly origin: string
  /** Streams that were opened through it. */
  readonly streams: number
}

export interface SameOriginOptions {
  readonly serviceUrl: string
  /** Text of pages and scripts by their path. */
  readonly pages: Readonly<Record<string, string>>
  /** Folder whose scripts stand below `/client/`. */
  readonly folder: string
}

/** Starts the site. It cuts every other stream of Events, beginning with the first, when a frame has come through. */
export async function startSameOrigin({ serviceUrl, pages, folder }: SameOriginOptions): Promise<SameOrigin> {
  let streams = 0
  const pass = (incoming: IncomingMessage, response: ServerResponse) => {
    const isStream = incoming.url?.includes('/events/stream') === true
    if (isStream) streams += 1
    const isCut = isStream && streams % 2 === 1
    const { method, headers } = incoming
    const forwarded = request(new URL(incoming.url ?? '/', serviceUrl), {
      ...(method !== undefined && { method }),
      headers: { ...headers, host: new URL(serviceUrl).host },
    })
    forwarded.on('response', answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => response.destroy())
      answer.on('data', (chunk: Buffer) => {
        response.write(chunk, () => {
          if (isCut && chunk.includes('id: ')) response.destroy()
        })
      })
      answer.on('end', () => response.end())
    })
    forwarded.on('error', () => response.destroy())
    response.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  }
  const server = createServer(async (incoming, response) => {
    const path = new URL(incoming.url ?? '/', 'http://loopback').pathname
    if (path.startsWith('/v1/')) return pass(incoming, response)
    const script = path.startsWith('/client/')
      ? await readFile(join(folder, path.slice('/client/'.length)), 'utf8')
      : pages[path]
    if (script === undefined) return response.writeHead(404).end()
    response
      .setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html; charset=utf-8')
      .end(script)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get streams() {
      return streams
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
