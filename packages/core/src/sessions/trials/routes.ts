import { provideOwnInstallation } from '../../accounts/installations/own-installation.ts'
import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { holdPlace, type Streaming } from '../streams/routes.ts'
import { withLife } from '../streams/stream-life.ts'
import { followTrial } from './follow-trial.ts'
import { readTrial } from './read-trial.ts'
import { startTrial } from './start-trial.ts'
import { stopTrial } from './stop-trial.ts'

type Operations = 'startEnvironmentTrial' | 'getEnvironmentTrial' | 'streamEnvironmentTrial' | 'stopEnvironmentTrial'

/** Serves trials of environments. */
export function trialHandlers(
  context: Context,
  { budget, life }: Pick<Streaming, 'budget' | 'life'>,
  { trialMs }: { readonly trialMs: number },
): Pick<Handlers, Operations> {
  return {
    async startEnvironmentTrial({ principal, params, body, clientAddress }) {
      const sourceOwner = async () => (await provideOwnInstallation(context, principal.organizationId)).id
      const caller = { principal, clientAddress, sourceOwner }
      return { status: 201, body: { trial: await startTrial(context, caller, params.environmentId, body, trialMs) } }
    },
    getEnvironmentTrial: async ({ principal, params }) => ({
      status: 200,
      body: { trial: await readTrial(context, principal, params.environmentId, keyOf(principal, params)) },
    }),
    async streamEnvironmentTrial(request) {
      const { principal, params, query, headerParams } = request
      const key = keyOf(principal, params)
      await readTrial(context, principal, params.environmentId, key)
      const after = headerParams['last-event-id'] ?? query.after
      await holdPlace(budget, request)
      return { events: withLife(signal => followTrial(context, key, after, signal), request, life, context.clock) }
    },
    stopEnvironmentTrial: async ({ principal, params }) => ({
      status: 200,
      body: { trial: await stopTrial(context, principal, params.environmentId, keyOf(principal, params)) },
    }),
  }
}

const keyOf = ({ organizationId }: Principal, { trialId }: { readonly trialId: string }) => ({
  organizationId,
  sessionId: trialId,
})
