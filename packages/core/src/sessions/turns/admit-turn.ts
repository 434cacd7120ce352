import { emptyTreeOid, limits, type SubmitTurn, type TurnAdmission } from '@berth/contract'
import { invalidField, refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { isAllWorkSealed } from '../../checkpoints/checkpoint-sql.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { NATIVE_RUNTIME } from '../../runtimes/catalog.ts'
import { requireCompute } from '../../runtimes/own-hosts.ts'
import { answerByTurn, readReply } from '../interactions/answer-by-turn.ts'
import { resumeAfterRaise } from '../interactions/budget-question.ts'
import { endLease } from '../leases/end-lease.ts'
import { isLeaseElsewhere } from '../leases/lease-sql.ts'
import { checkOutputSchema } from '../outputs/output-schema.ts'
import { runOfTurn } from '../runs/read-run.ts'
import { toRun } from '../runs/run.ts'
import { findRun } from '../runs/run-sql.ts'
import { lockVisibleSession } from '../session/read-session.ts'
import { continuationOfSession, type SessionRow } from '../session/session.ts'
import { sealTerminalWork } from '../terminals/seal-terminal-work.ts'
import type { PlatformTurn } from './bring.ts'
import { type InsertedTurn, insertTurn, type NewTurn } from './insert-turn.ts'
import { type StoredFile, toTurn, turnHash } from './turn.ts'
import { findTurn, listFilesByHash } from './turn-sql.ts'

/**
 * Admits a Turn under the Session's lock, with its checks in the order that all commands share. It looks for an
 * identical replay first, and answers it whatever has become of the Session. A Turn begins a Run, but an answer to a
 * question or a plan resumes the Run that asked, and a message that steers joins the active Run.
 * @param platform for a Turn of the service's own, which begins a Run; not part of the replay identity
 * @throws ApiError 404
 * @throws ApiError 409 `cloud_turn_conflict`, `cloud_resume_unavailable`, `cloud_interaction_conflict`,
 *   `cloud_run_in_progress`, `cloud_steering_unsupported` or `cloud_turn_limit_reached`
 * @throws ApiError 403 `cloud_compute_not_configured` or 409 `cloud_compute_outdated`
 * @throws ApiError 400 if a file is not base64, not of an earlier Turn or has another's name, a form is filled in wrongly, or the schema of an
 *   output is not acceptable
 */
export async function admitTurn(
  context: Context,
  principal: Principal,
  key: SessionKey,
  turnId: string,
  body: SubmitTurn,
  platform: PlatformTurn = {},
): Promise<TurnAdmission> {
  const now = context.clock.now()
  const decoded = (body.files ?? []).map((file, index) => decode(file, index))
  refuseSharedNames(body.files ?? [])
  const output = body.output ?? null
  const steers = body.mode === 'steer'
  // Blobs are named by their content: one that no Turn names is garbage, never a wrong fact.
  const sent = await Promise.all(
    decoded.map(async file => {
      if (!('content' in file)) return file
      const { content, ...described } = file
      return { ...described, sha256: (await context.blobs.put(content)).sha256 }
    }),
  )
  const replyTo = body.replyTo?.interactionId ?? null
  if (output !== null && replyTo !== null) {
    throw invalidField(['output'], 'belongs to the Turn that starts a Run; an answer resumes the Run that asked')
  }
  if (steers && replyTo !== null) {
    throw invalidField(['mode'], 'an answer resumes the Run that asked; leave `mode` out')
  }
  if (steers && output !== null) {
    throw invalidField(['output'], 'belongs to the Turn that starts a Run; a message that steers may join one')
  }
  if (body.updateFromBase && (replyTo !== null || steers)) {
    throw invalidField(['updateFromBase'], 'belongs to the Turn that starts a Run: the agent has begun otherwise')
  }
  const bring = body.updateFromBase ? { bring: [{ kind: 'base' as const, oid: null }] } : {}
  if (output !== null) checkOutputSchema(output.schema, ['output', 'schema'])
  const admission = await context.db.transaction(async tx => {
    const [session, known] = await Promise.all([lockVisibleSession(tx, principal, key), findTurn(tx, key, turnId)])
    const files = await findSent(tx, key, sent)
    if (known !== null) {
      if (!known.request_hash.equals(turnHash({ message: body.message, replyTo, files }))) {
        throw refusal('cloud_turn_conflict')
      }
      return { created: false, row: known, run: await runOfTurn(tx, key, known.run_id), budgeted: false }
    }
    const turn = {
      id: turnId,
      message: body.message,
      replyTo,
      files,
      output,
      steers,
      author: principal,
      now,
      ...bring,
      ...platform,
    }
    if (body.updateFromBase) refuseUnlessBased(session)
    const { row, queued, budgeted } =
      replyTo === null
        ? { ...(await beginOrJoin(context, tx, session, turn)), budgeted: false }
        : await answerTurn(context, tx, principal, session, { ...turn, replyTo })
    return { created: true, row, run: queued === null ? await runOfTurn(tx, key, row.run_id) : toRun(queued), budgeted }
  })
  if (admission.created) {
    const { organizationId, sessionId } = key
    const session = topics.session(organizationId, sessionId)
    if (replyTo === null && !steers) context.wakeups.publish(session, topics.queue)
    // The worker that executes the Run hears of the message; if the Run was parked, any worker may take it up.
    else context.wakeups.publish(session, topics.control(organizationId, sessionId), topics.queue)
    if (admission.budgeted) await resumeAfterRaise(context, organizationId)
  }
  return { created: admission.created, turn: toTurn(admission.row), run: admission.run }
}

/**
 * Decides under the Session's lock on a Turn that begins a Run, and writes it.
 * @throws ApiError 404 if the Session is archived
 * @throws ApiError 409 `cloud_resume_unavailable`, `cloud_run_in_progress` or `cloud_turn_limit_reached`
 * @throws ApiError 403 `cloud_compute_not_configured` or 409 `cloud_compute_outdated`
 */
export async function beginTurn(
  context: Context,
  tx: Queryable,
  session: SessionRow,
  turn: NewTurn,
): Promise<InsertedTurn> {
  refuseUnlessOpen(context, session)
  if (session.active_run_id !== null) throw refusal('cloud_run_in_progress')
  refuseIfFull(session)
  if (await requireCompute(tx, session.organization_id)) await leaveForeignHost(tx, session, turn.now)
  return insertTurn(tx, session, turn)
}

/** Lets a Turn that steers join the active Run; without one, and for every other Turn, a Run begins. */
async function beginOrJoin(context: Context, tx: Queryable, session: SessionRow, turn: NewTurn): Promise<InsertedTurn> {
  const { active_run_id: runId } = session
  if (!turn.steers || runId === null) return beginTurn(context, tx, session, turn)
  if (session.archived_at !== null) throw sessionNotFound()
  const key = { organizationId: session.organization_id, sessionId: session.id }
  if (context.runtimes.find(session.runtime ?? NATIVE_RUNTIME)?.steers !== true) {
    throw refusal('cloud_steering_unsupported')
  }
  // It is about to end, and its agent takes nothing any more.
  const run = await findRun(tx, key, runId)
  if (run === null || run.cancel_requested_at !== null) throw refusal('cloud_run_in_progress')
  refuseIfFull(session)
  return insertTurn(tx, session, turn, runId)
}

async function answerTurn(
  context: Context,
  tx: Queryable,
  principal: Principal,
  session: SessionRow,
  turn: NewTurn & { readonly replyTo: string },
): Promise<InsertedTurn & { readonly budgeted: boolean }> {
  const key = { organizationId: session.organization_id, sessionId: session.id }
  refuseUnlessOpen(context, session)
  const reply = await readReply(tx, principal, key, turn)
  refuseIfFull(session)
  const inserted = await insertTurn(tx, session, turn, reply.interaction.run_id)
  await answerByTurn(tx, principal, key, { ...reply, turnId: turn.id }, turn.now)
  return { ...inserted, budgeted: reply.budget !== undefined }
}

/** @throws ApiError 400 if the Session has no branch whose commits could come into its workspace */
function refuseUnlessBased({ source }: SessionRow): void {
  if (source === null) throw invalidField(['updateFromBase'], 'the Session has no repository')
  if (source.baseOid === emptyTreeOid) {
    throw invalidField(['updateFromBase'], 'the repository had no commit when the Session began')
  }
}

function refuseIfFull(session: SessionRow): void {
  if (session.turn_count >= limits.turnsPerSession) throw refusal('cloud_turn_limit_reached')
}

function refuseUnlessOpen(context: Context, session: SessionRow): void {
  if (session.archived_at !== null) throw sessionNotFound()
  // If a Run is active, its worker decides whether it can continue; only a new Run needs this check.
  if (session.active_run_id === null && !continuationOfSession(session, context).canContinue) {
    throw refusal('cloud_resume_unavailable')
  }
}

/** Refuses two files of one name: the sandbox keeps a Turn's files in one directory. */
function refuseSharedNames(files: readonly Pick<StoredFile, 'name'>[]): void {
  const names = new Set<string>()
  for (const [index, { name }] of files.entries()) {
    if (names.has(name)) throw invalidField(['files', index, 'name'], 'is the name of an earlier file')
    names.add(name)
  }
}

type Decoded = Omit<StoredFile, 'sha256'> & { readonly content: Buffer }
/** A file that an earlier Turn has brought. */
type Named = Pick<StoredFile, 'name' | 'sha256'> & { readonly mediaType: string | undefined }

/**
 * Completes the files that a Turn names by their hash alone from the Session's earlier Turns, which never change.
 * @throws ApiError 400 if no Turn has such a file: a hash must not open what another Session has
 */
async function findSent(tx: Queryable, key: SessionKey, sent: readonly (StoredFile | Named)[]): Promise<StoredFile[]> {
  const hashes = sent.flatMap(file => ('sizeBytes' in file ? [] : [file.sha256]))
  const known = hashes.length === 0 ? [] : await listFilesByHash(tx, key, hashes)
  const byHash = new Map(known.map(file => [file.sha256, file]))
  return sent.map((file, index) => {
    if ('sizeBytes' in file) return file
    const earlier = byHash.get(file.sha256)
    if (earlier === undefined) throw invalidField(['files', index, 'sha256'], 'no earlier Turn of the Session has it')
    return { ...earlier, name: file.name, mediaType: file.mediaType ?? earlier.mediaType }
  })
}

function decode(file: NonNullable<SubmitTurn['files']>[number], index: number): Decoded | Named {
  if ((file.content === undefined) === (file.sha256 === undefined)) {
    throw invalidField(['files', index, 'content'], 'give either `content` or `sha256`')
  }
  if (file.content === undefined) {
    return { name: file.name, sha256: file.sha256 ?? '', mediaType: file.mediaType }
  }
  const content = Buffer.from(file.content, 'base64')
  // Node skips characters that are not base64; only valid text comes back the same when encoded again.
  if (content.toString('base64').replace(/=+$/, '') !== file.content.replace(/=+$/, '')) {
    throw invalidField(['files', index, 'content'], 'is not base64')
  }
  return {
    name: file.name,
    mediaType: file.mediaType ?? 'application/octet-stream',
    sizeBytes: content.length,
    content,
  }
}

/**
 * Gives back the sandbox of a Session whose organization was bound to its own hosts since, so that the next Run begins at
 * one of those. Work that nothing else has stays where it is, and so does a sandbox that is being sealed. The caller holds
 * the lock of the Session, which has no active Run.
 */
export async function leaveForeignHost(tx: Queryable, session: SessionRow, now: Date): Promise<void> {
  const key = { organizationId: session.organization_id, sessionId: session.id }
  if (!session.lease_held || session.finalizing || !(await isLeaseElsewhere(tx, key))) return
  if (!(await isAllWorkSealed(tx, key, session))) return
  if (await sealTerminalWork(tx, key, now)) return
  await endLease(tx, key, 'expired', now)
}
