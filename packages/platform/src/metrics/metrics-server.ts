import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { StartError } from '../kit/start-error.ts'

/** Serves metrics on a loopback port of their own, to anyone on the machine. */
export interface MetricsServer extends AsyncDisposable {
  readonly port: number
}

/**
 * Serves `GET /metrics` in Prometheus's format.
 *
 * @throws StartError if the port is taken
 */
export async function serveMetrics(registry: Registry, port: number, log: Logger): Promise<MetricsServer> {
  const server = createServer(async ({ method, url }, response) => {
    if (url?.replace(/\?.*$/, '') !== '/metrics') return response.writeHead(404).end()
    if (method !== 'GET' && method !== 'HEAD') return response.writeHead(405, { allow: 'GET, HEAD' }).end()
    try {
      const text = await registry.metrics()
      return response.writeHead(200, { 'content-type': registry.contentType }).end(text)
    } catch (error) {
      log.warn({ err: error }, 'metrics could not be collected')
      return response.writeHead(500).end()
    }
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(port, '127.0.0.1', resolve)
  await listening.catch(cause => {
    throw new StartError(`cannot serve metrics on 127.0.0.1:${port}; BERTH_METRICS_PORT chooses another port`, {
      cause,
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const { promise: closed, resolve: done } = Promise.withResolvers<void>()
      server.close(() => done())
      server.closeAllConnections()
      await closed
    },
  }
}
