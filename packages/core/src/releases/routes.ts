import { limits, type RuntimeReleaseProbe } from '@berth/contract'
import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import { deleteProbe, findProbe, type ProbeRow } from './probe-sql.ts'
import { activateProbe, type EngineFetching, uploadEngine } from './release-probes.ts'

/** Serves the probes of runtime releases over HTTP. A probe belongs to the installation that calls. */
export function releaseHandlers(
  context: Context,
  fetching: EngineFetching,
): Pick<
  Handlers,
  'getRuntimeReleaseProbe' | 'activateRuntimeReleaseProbe' | 'uploadRuntimeReleaseEngine' | 'deleteRuntimeReleaseProbe'
> {
  return {
    getRuntimeReleaseProbe: async ({ principal }) => {
      const row = await findProbe(context.db, principal.id, context.clock.now())
      return { status: 200, body: { probe: row === null ? null : toProbe(row) } }
    },
    activateRuntimeReleaseProbe: async ({ principal, params, body }) => {
      const row = await activateProbe(context, fetching, principal.id, params.releaseSha, body)
      return { status: 200, body: { probe: toProbe(row) } }
    },
    uploadRuntimeReleaseEngine: async ({ principal, params, body }) => {
      const content = body.bytes(limits.engineBytes)
      const { sha256, sizeBytes } = await uploadEngine(context, principal.id, params.releaseSha, content)
      return { status: 200, body: { engine: { sha256, sizeBytes } } }
    },
    deleteRuntimeReleaseProbe: async ({ principal, params }) => {
      await deleteProbe(context.db, principal.id, params.releaseSha)
      return { status: 204 }
    },
  }
}

function toProbe(row: ProbeRow): RuntimeReleaseProbe {
  return {
    releaseSha: row.release_sha,
    engine: { sha256: row.engine_sha256 },
    activatedAt: row.activated_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  }
}
