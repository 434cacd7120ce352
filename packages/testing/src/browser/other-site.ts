import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Another site on this machine: an app that people are sent back to, or one that means ill. */
export interface OtherSite extends AsyncDisposable {
  readonly origin: string
  /** Paths and queries that were asked for, in order. */
  readonly visits: readonly string[]
}

/** Starts a site that answers every request with one page. */
export async function startOtherSite(body = '<h1>Welcome back</h1>'): Promise<OtherSite> {
  const visits: string[] = []
  const server = createServer((request, response) => {
    visits.push(request.url ?? '')
    response
      .setHeader('content-type', 'text/html; charset=utf-8')
      .end(`<!doctype html><title>Another site</title>${body}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    visits,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
