import { randomUUID } from 'node:crypto'
import { emptyTreeOid, type ForkSession, type Session } from '@berth/contract'
import { ownCredentials } from '@berth/platform/kit/redactor.ts'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import { requestHash } from '@berth/platform/kit/request-hash.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { copyCheckpoint, findForkable } from '../checkpoints/fork-checkpoint-sql.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { findPlanAt } from './log/agent-state-sql.ts'
import { appendEvents } from './log/append.ts'
import { findRunEnd } from './log/run-end-sql.ts'
import { listSecretValues, rememberSecrets } from './log/session-redactor.ts'
import { findFollowed } from './publications/publication-sql.ts'
import { copyWork } from './runs/copy-work-sql.ts'
import { readRecap } from './runs/recap.ts'
import { findRun } from './runs/run-sql.ts'
import { lockVisibleSession, requireSeen } from './session/read-session.ts'
import { type SessionRow, titleOfFork, toSession } from './session/session.ts'
import { findSession, insertSession, isPurged } from './session/session-sql.ts'

/** The Events with which the log of a fork begins: that it is one, and the plan that it has from the other Session. */
const INHERITED_UNTIL = 2

/**
 * Makes a new Session from where a Run of another one ended. It has that Run's checkpoint, the Turns and Runs up to it, the
 * other Session's settings and its secrets to mask, and a log of its own that begins with where it comes from. The same
 * body again returns the fork as it is now, whatever has become of the other Session.
 *
 * All of it is copied under the other Session's lock, which a seal, a reset and a purge take as well.
 * @throws ApiError 404 if the caller does not see the Session or the Run, the Session is archived, or the id was purged
 * @throws ApiError 409 `cloud_session_conflict` if the id is that of another Session
 * @throws ApiError 409 `cloud_run_in_progress`, `cloud_session_finalizing` or `cloud_fork_unavailable` if there is no
 *   sealed Run to fork at
 */
export async function forkSession(
  context: Context,
  principal: Principal,
  key: SessionKey,
  { id = randomUUID(), runId, title }: ForkSession,
): Promise<{ created: boolean; session: Session }> {
  const { organizationId } = key
  const fork = { organizationId, sessionId: id.toLowerCase() }
  const hash = requestHash({ forkOf: key.sessionId, runId: runId?.toLowerCase(), title })
  const replay = async () => {
    const row = requireSeen(principal, await findSession(context.db, fork))
    if (!row.request_hash.equals(hash)) throw refusal('cloud_session_conflict')
    return { created: false, session: toSession(row, context) }
  }
  if ((await findSession(context.db, fork)) !== null) return replay()

  const now = context.clock.now()
  const row = await context.db.transaction(async tx => {
    const source = await lockVisibleSession(tx, principal, key)
    if (source.archived_at !== null) throw sessionNotFound()
    const at = await forkPoint(tx, source, key, runId?.toLowerCase() ?? null)
    const end = await findRunEnd(tx, key, at)
    const plan = await findPlanAt(tx, key, end ?? INHERITED_UNTIL)
    const inserted = await insertSession(tx, {
      key: fork,
      ...ownerOfFork(principal, source),
      requestHash: hash,
      title: title === undefined ? titleOfFork(source.title) : ownCredentials.text(title),
      origin: source.origin,
      source: await sourceOfFork(tx, source, key, at),
      model: source.model,
      effort: source.effort,
      runtime: source.runtime,
      environmentId: source.environment_id,
      // A Run that the source has copied itself has no end in its log, and all messages of the log came after it.
      forkOf: {
        sessionId: key.sessionId,
        runId: at,
        recap: await readRecap(tx, key, { until: end ?? 0 }),
        plan,
      },
      now,
    })
    if (!inserted) return null
    if (await isPurged(tx, fork)) throw sessionNotFound()
    const copied = await copyWork(tx, key, at, fork.sessionId)
    await copyCheckpoint(tx, key, at, { sessionId: fork.sessionId, runId: copied })
    // The workspace and the conversation may hold secrets of the other Session's sandboxes.
    await rememberSecrets(tx, fork, 'environment', await listSecretValues(tx, key), now)
    const data = {
      sourceSessionId: key.sessionId,
      sourceRunId: at,
      ...(end !== null && { sourceSequence: end }),
      createdBy: { kind: principal.kind, id: principal.id },
    }
    // A reader of the log alone sees the plan, and a fork of this fork finds it.
    const inherited =
      plan === null ? [] : [{ type: 'svc.plan.updated', visibility: 'transcript' as const, data: { ...plan } }]
    await appendEvents(tx, fork, [{ type: 'svc.session.forked', data }, ...inherited], now)
    return findSession(tx, fork)
  })
  if (row === null) return replay()
  context.wakeups.publish(topics.session(organizationId, fork.sessionId))
  return { created: true, session: toSession(row, context) }
}

/** Returns the Run at whose end the fork begins. */
async function forkPoint(tx: Queryable, source: SessionRow, key: SessionKey, runId: string | null): Promise<string> {
  const run = runId === null ? null : await findRun(tx, key, runId)
  if (runId !== null && run === null) throw sessionNotFound()
  const found = await findForkable(tx, key, runId)
  if (found !== null) return found
  if (run === null ? source.active_run_id !== null : run.ended_at === null) throw refusal('cloud_run_in_progress')
  if (source.finalizing) throw refusal('cloud_session_finalizing')
  throw refusal('cloud_fork_unavailable')
}

/**
 * Returns the repository of a fork. If the forked Run has the first commit of the repository, and the Session made it, the
 * fork begins at that: without a history in common, nothing of it could be delivered. On a commit that the Run does not
 * have, the fork's work would delete the commit's files unseen.
 */
async function sourceOfFork(
  tx: Queryable,
  { source }: SessionRow,
  key: SessionKey,
  runId: string,
): Promise<SessionRow['source']> {
  if (source?.baseOid !== emptyTreeOid) return source
  const first = await findFollowed(tx, key, source.baseBranch, runId)
  return first === null ? source : { ...source, baseOid: first }
}

/**
 * A fork of an installation's Session is the installation's too, since its repository and environment rest on what that was
 * granted. A fork of a person's Session belongs to whoever makes it.
 */
function ownerOfFork(
  { kind, id }: Principal,
  { owner_kind: ownerKind, owner_id: ownerId }: SessionRow,
): { readonly owner: Pick<Principal, 'kind' | 'id'>; readonly initiatedBy: string | null } {
  if (ownerKind === 'person') return { owner: { kind, id }, initiatedBy: null }
  return { owner: { kind: ownerKind, id: ownerId }, initiatedBy: kind === 'person' ? id : null }
}
