import { randomUUID } from 'node:crypto'
import { damageOf } from '@berth/core/checkpoints/check.ts'
import { findNewestCheckpoint } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { inspectSealed } from '@berth/core/checkpoints/inspect-sealed.ts'
import type { PathRange, Seen } from '@berth/core/checkpoints/inspect-tree.ts'
import type { Context } from '@berth/core/context.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { findActiveGrant } from '@berth/core/repositories/active-grant.ts'
import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import type { SessionRow } from '@berth/core/sessions/session/session.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { Semaphore } from '@berth/platform/kit/semaphore.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { listen } from '@berth/platform/storage/postgres/listen.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { deleteFileRequest, insertFileRequest, takeFileAnswer } from './file-request-sql.ts'

const PATIENCE_MS = 15_000
/** Looks into checkpoints that a process does at once, and with those that wait. Each unpacks whole parts of them in memory. */
const MAX_READ = 4
const MAX_HELD = 36
const readers = new Semaphore(MAX_READ)
let held = 0

/** Where the seen comes from. */
export type View =
  | { readonly at: 'workspace' }
  | { readonly at: 'sealed'; readonly sealedAt: Date; readonly runId: string }
  | { readonly at: 'base'; readonly commit: string }

/**
 * Looks at one path of a Session's workspace. A worker beside the sandbox looks, or this process looks into the last
 * checkpoint, or any worker at the commit where the Session began; none of them starts a sandbox, thaws one or renews a
 * lease.
 * @param at absent: the sandbox if there is one
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `cloud_workspace_expired` if there is no sandbox, or no checkpoint
 * @throws ApiError 409 `cloud_repository_required`, 403 `cloud_repository_grant_required` at the base
 * @throws ApiError 503 `cloud_workspace_unavailable` if no worker has answered in time, or too many look
 */
export async function inspectFiles(
  context: Context,
  principal: Principal,
  key: SessionKey,
  { at, range }: { readonly at: View['at'] | undefined; readonly range: PathRange },
  signal: AbortSignal,
): Promise<{ readonly view: View; readonly seen: Seen }> {
  const session = await readSession(context, principal, key)
  if (at === 'base') return await inspectStart(context, key, session, range, signal)
  const lease = at === 'sealed' ? null : await findLiveLease(context.db, key)
  if (lease?.state === 'attached') {
    const seen = await ask(context, key, lease.id, range, signal)
    if (seen !== null) return { view: { at: 'workspace' }, seen }
  }
  if (at === 'workspace') throw refusal('cloud_workspace_expired')
  if (held >= MAX_HELD) throw refusal('cloud_workspace_unavailable')
  held++
  try {
    using _permit = await readers.take(signal, key.organizationId)
    return await inspectCheckpoint(context, key, range)
  } finally {
    held--
  }
}

async function inspectStart(
  context: Context,
  key: SessionKey,
  { source, owner_id: installationId }: SessionRow,
  range: PathRange,
  signal: AbortSignal,
): Promise<{ readonly view: View; readonly seen: Seen }> {
  if (source === null) throw refusal('cloud_repository_required')
  const grantee = { organizationId: key.organizationId, installationId }
  const grant = await findActiveGrant(context.db, grantee, source.grantId)
  if (grant === null) throw refusal('cloud_repository_grant_required')
  const seen = await ask(context, key, null, range, signal)
  if (seen === null) throw refusal('cloud_workspace_unavailable')
  return { view: { at: 'base', commit: source.baseOid }, seen }
}

/** Asks the worker beside the sandbox, or without a lease any. @returns null if there is nothing to look at any more */
async function ask(
  { db, clock, wakeups }: Context,
  key: SessionKey,
  leaseId: string | null,
  range: PathRange,
  signal: AbortSignal,
): Promise<Seen | null> {
  const id = randomUUID()
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
  await insertFileRequest(db, key, { id, leaseId, request: JSON.stringify(range), now: clock.now() })
  wakeups.publish(topics.deliveries)
  for (;;) {
    using moved = listen(wakeups, topics.files(key.organizationId, key.sessionId))
    const taken = await takeFileAnswer(db, id)
    if (taken !== null) return taken.answer === null ? null : seenOf(taken.answer, taken.content)
    if (deadline.aborted) {
      await deleteFileRequest(db, id)
      throw refusal('cloud_workspace_unavailable')
    }
    await moved.once(deadline)
  }
}

/** The worker's own words. */
function seenOf(answer: string, content: Buffer | null): Seen {
  const seen = JSON.parse(answer) as Seen
  return seen.found === 'file' ? { ...seen, content: content ?? Buffer.alloc(0) } : seen
}

async function inspectCheckpoint({ db, blobs, log }: Context, key: SessionKey, range: PathRange) {
  const checkpoint = await findNewestCheckpoint(db, key)
  if (checkpoint === null) throw refusal('cloud_workspace_expired')
  try {
    const manifest = Buffer.from(checkpoint.workspace_manifest)
    const seen = await inspectSealed(manifest, blobs, range)
    return { view: { at: 'sealed', sealedAt: checkpoint.sealed_at, runId: checkpoint.run_id } as const, seen }
  } catch (error) {
    if (damageOf(error) === undefined) throw error
    log.error({ err: error, sessionId: key.sessionId }, 'a checkpoint could not be looked at')
    throw refusal('cloud_workspace_unavailable')
  }
}
