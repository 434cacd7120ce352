import { provideOwnInstallation } from '../../accounts/installations/own-installation.ts'
import type { Context } from '../../context.ts'
import type { HandlerRequest, Handlers, Reply } from '../../http/routing/handler.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { holdPlace, type Streaming } from '../streams/routes.ts'
import { withLife } from '../streams/stream-life.ts'
import { followTrial } from './follow-trial.ts'
import { readTrial } from './read-trial.ts'
import { startTrial } from './start-trial.ts'
import { stopTrial } from './stop-trial.ts'

type Verb = 'start' | 'get' | 'stream' | 'stop'
/** What installations and people ask for is the same; only who they are differs. */
type Asked<Of extends Verb> = Omit<HandlerRequest<`${Of}EnvironmentTrial`>, never>
type Operations = `${Verb}${'Environment' | 'Organization'}Trial`

/** Serves trials of environments, to installations and to people alike. */
export function trialHandlers(
  context: Context,
  { budget, life }: Pick<Streaming, 'budget' | 'life'>,
  { trialMs }: { readonly trialMs: number },
): Pick<Handlers, Operations> {
  const start = async ({ principal, params, body, clientAddress }: Asked<'start'>): Promise<Reply> => {
    const sourceOwner = async () => (await provideOwnInstallation(context, principal.organizationId)).id
    const caller = { principal, clientAddress, sourceOwner }
    return { status: 201, body: { trial: await startTrial(context, caller, params.environmentId, body, trialMs) } }
  }
  const get = async ({ principal, params }: Asked<'get'>): Promise<Reply> => ({
    status: 200,
    body: { trial: await readTrial(context, principal, params.environmentId, keyOf(principal, params)) },
  })
  const stream = async (request: Asked<'stream'>): Promise<Reply> => {
    const { principal, params, query, headerParams } = request
    const key = keyOf(principal, params)
    await readTrial(context, principal, params.environmentId, key)
    const after = headerParams['last-event-id'] ?? query.after
    await holdPlace(budget, request)
    return { events: withLife(signal => followTrial(context, key, after, signal), request, life, context.clock) }
  }
  const stop = async ({ principal, params }: Asked<'stop'>): Promise<Reply> => ({
    status: 200,
    body: { trial: await stopTrial(context, principal, params.environmentId, keyOf(principal, params)) },
  })
  return {
    startEnvironmentTrial: start,
    getEnvironmentTrial: get,
    streamEnvironmentTrial: stream,
    stopEnvironmentTrial: stop,
    startOrganizationTrial: start,
    getOrganizationTrial: get,
    streamOrganizationTrial: stream,
    stopOrganizationTrial: stop,
  }
}

const keyOf = ({ organizationId }: Principal, { trialId }: { readonly trialId: string }) => ({
  organizationId,
  sessionId: trialId,
})
