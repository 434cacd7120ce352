import type { FastifyInstance } from 'fastify'
import { ApiError } from '../api-error.ts'

/**
 * `GET /healthz`: the process answers. `GET /readyz`: what it needs answers too, or 503. No part of the API: no bearer,
 * no metering, no contract.
 */
export function registerProbes(app: FastifyInstance, ready: () => Promise<void>): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async () => {
    try {
      await ready()
    } catch (cause) {
      throw new ApiError(503, 'service_unavailable', { headers: { 'retry-after': '2' }, cause })
    }
    return { status: 'ok' }
  })
}

/** The paths of the probes. */
export const probePaths: ReadonlySet<string> = new Set(['/healthz', '/readyz'])
