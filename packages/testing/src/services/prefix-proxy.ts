import { once } from 'node:events'
import { request as forward } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { type Certificate, makeCertificate } from './certificates.ts'

/** A proxy on this machine that speaks TLS, and serves a service under a path that the service does not see. */
export interface PrefixProxy extends AsyncDisposable {
  /** Where browsers find the service, such as `https://localhost:40123/account-service`. */
  readonly url: string
  readonly ca: string
  /** Set once the service listens. */
  target: string
}

/** Starts a proxy that removes `prefix` from paths and answers 404 to all others. */
export async function startPrefixProxy(prefix: string): Promise<PrefixProxy> {
  const { ca, cert, key }: Certificate = makeCertificate('localhost')
  const server = createServer({ cert, key }, (request, response) => {
    const { url = '', method = 'GET', headers } = request
    if (!url.startsWith(`${prefix}/`)) {
      response.writeHead(404).end()
      return
    }
    const onward = forward(new URL(url.slice(prefix.length), proxy.target), { method, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      pipeline(answer, response).catch(() => response.destroy())
    })
    pipeline(request, onward).catch(() => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const proxy: PrefixProxy = {
    url: `https://localhost:${port}${prefix}`,
    ca,
    target: '',
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return proxy
}
