import { randomUUID } from 'node:crypto'
import { type EnvironmentTrial, environmentLimits, type StartTrial } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { requestHash } from '@berth/platform/kit/request-hash.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { appendAudit } from '../../accounts/audit/append.ts'
import type { Context } from '../../context.ts'
import { environmentToBind } from '../../environments/bind.ts'
import { lockOrganization } from '../../environments/environment-sql.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { requireCompute } from '../../runtimes/own-hosts.ts'
import { settleRuntime } from '../configuration.ts'
import { requestWorkspace } from '../leases/workspace-request-sql.ts'
import { insertSession } from '../session/session-sql.ts'
import { settleSource } from '../settle-source.ts'
import { toTrial } from './trial.ts'
import { countLiveTrials, findTrial, insertTrial } from './trial-sql.ts'
import { watchedFrom } from './watch.ts'

/** The runtime whose sandbox is tried if the caller names none: it needs no model. */
const PLAIN_RUNTIME = 'shell'

/** Who asks for a trial, and from where. */
export interface TrialCaller {
  readonly principal: Principal
  readonly clientAddress: string
  /** Provides the installation whose grants reach the repositories of people. */
  readonly sourceOwner: () => Promise<string>
}

/**
 * Starts a trial of an environment's newest revision: a Session that nobody sees, with a request for its workspace. The
 * worker that answers the request applies the environment and then ends the trial, whether or not the caller is still
 * there. No Turn ever reaches it, so no agent starts and no model is asked.
 * @throws ApiError 404 `environment_not_found`
 * @throws ApiError 409 `environment_conflict` if it is archived, `quota_exceeded` if the organization has enough trials
 * @throws ApiError 400, 403, 409 or 503 for the runtime, the repository or the compute, as a Session's
 */
export async function startTrial(
  context: Context,
  { principal, clientAddress, sourceOwner }: TrialCaller,
  environmentId: string,
  body: StartTrial,
  trialMs: number,
): Promise<EnvironmentTrial> {
  const { db, clock, runtimes, wakeups } = context
  const { organizationId } = principal
  const key = { organizationId, sessionId: randomUUID() }
  const bound = await environmentToBind(db, principal, { id: environmentId })
  const wanted = body.runtime ?? (runtimes.find(PLAIN_RUNTIME) === null ? null : PLAIN_RUNTIME)
  await requireCompute(db, organizationId)
  const runtime = await settleRuntime(context, db, organizationId, wanted)
  const { owner, initiatedBy, source } = await settleSource(context, principal, body.source, sourceOwner)
  const now = clock.now()
  const row = await db.transaction(async tx => {
    // Of trials that start at the same moment exactly as many count as there is room for.
    await lockOrganization(tx, organizationId)
    if ((await countLiveTrials(tx, organizationId)) >= environmentLimits.trials) throw refusal('quota_exceeded')
    await insertSession(tx, {
      key,
      owner,
      initiatedBy,
      requestHash: requestHash({ trial: environmentId, ...body }),
      title: 'Trial of an environment',
      origin: null,
      source,
      model: null,
      effort: null,
      runtime,
      environmentId: bound,
      isTrial: true,
      now,
    })
    await insertTrial(tx, key, { endsAt: new Date(now.getTime() + trialMs), watchedUntil: watchedFrom(now) })
    await requestWorkspace(tx, key, now)
    await appendAudit(
      tx,
      {
        organizationId,
        actor: { kind: principal.kind, id: principal.id, name: null },
        action: 'environment.tried',
        target: `environment/${environmentId}`,
        address: clientAddress,
        outcome: 'done',
        details: { trialId: key.sessionId },
      },
      now,
    )
    return findTrial(tx, key)
  })
  if (row === null) throw new Error('a trial was not written')
  wakeups.publish(topics.queue)
  return toTrial(row)
}
