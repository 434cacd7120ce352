import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../kit/api-error.ts'

/** What the service needs, by name; each rejects while that does not answer, or is not as it should be. */
export type Needs = Readonly<Record<string, () => Promise<void>>>

/**
 * `GET /healthz`: the process answers. `GET /readyz`: what it needs does too, or 503 with its name. No part of the API:
 * no bearer, no metering, no contract.
 */
export function registerProbes(app: FastifyInstance, needs: Needs): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async () => {
    for (const [component, check] of Object.entries(needs)) {
      await check().catch(cause => {
        throw new ApiError(503, 'service_unavailable', {
          fields: { component },
          headers: { 'retry-after': '2' },
          cause,
        })
      })
    }
    return { status: 'ok' }
  })
}

/** The paths of the probes. */
export const probePaths: ReadonlySet<string> = new Set(['/healthz', '/readyz'])
