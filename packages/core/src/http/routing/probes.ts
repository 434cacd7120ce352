import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { FastifyInstance } from 'fastify'

/** Health checks by component. Each rejects while the component does not answer or is in a wrong state. */
export type Needs = Readonly<Record<string, () => Promise<void>>>

/**
 * Registers the probes. `GET /healthz` says that the process answers. `GET /readyz` says that its components do too, or
 * answers 503 with the name of one that does not. Probes are outside the API: no bearer, no metering, no contract.
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
