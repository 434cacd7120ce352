import type { FollowUpReason } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { appendAudit } from '../../accounts/audit/append.ts'
import { isAllWorkSealed } from '../../checkpoints/checkpoint-sql.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { FollowedMarks, FollowUpRow } from '../follow-ups/follow-up.ts'
import { endedEvent } from '../follow-ups/follow-up-event.ts'
import { type FollowUpClaim, type FollowUpColumns, NEVER, releaseFollowUp } from '../follow-ups/follow-up-sql.ts'
import { endLease } from '../leases/end-lease.ts'
import { appendEvents } from '../log/append.ts'
import { withdrawMerge } from '../merges/abandon-merges.ts'
import { hasOpenPublication } from '../publications/publication-sql.ts'
import { withdrawPublication } from '../publications/under-way.ts'
import { lockSession } from '../session/session-sql.ts'
import { sealTerminalWork } from '../terminals/seal-terminal-work.ts'
import type { Decision, Facts } from './facts.ts'
import { mergeIdOf, publicationIdOf } from './step-ids.ts'

/** Thrown if another worker has claimed the row, or somebody has changed it: this worker's step no longer counts. */
export class FollowUpTaken extends Error {
  override readonly name = 'FollowUpTaken'
}

/** While a follow-up rests, the host is asked for so long whether the pull request has ended. */
const RESTING_MS = 30 * 86_400_000

/** Returns the columns that tell what the host has said. */
export function observedColumns({ row, observed }: Facts): FollowUpColumns {
  const spent = { spent_usd: row.spent_usd, failures: 0 }
  if (observed === null) return spent
  const { pull, labels, assignees } = observed
  const marks: FollowedMarks = { labels: labels.slice(0, 100), assignees: assignees.slice(0, 100) }
  const pull_state = pull.state === 'open' ? (pull.draft ? 'draft' : 'open') : pull.state
  return { ...spent, marks, pull_state, pull_title: pull.title.slice(0, 1000) }
}

/** Writes a step of a follow-up, and gives its row back. @throws FollowUpTaken */
export async function release(
  tx: Queryable,
  { claim }: FollowUpClaim,
  columns: FollowUpColumns,
  dueAt: Date | typeof NEVER,
): Promise<FollowUpRow> {
  const row = await releaseFollowUp(tx, claim, columns, dueAt)
  if (row === null) throw new FollowUpTaken()
  return row
}

/** Leaves a follow-up alone for a time, or until its time is over. */
export async function wait(
  context: DeliveryContext,
  claim: FollowUpClaim,
  facts: Facts,
  { ms, awaits, settled }: Extract<Decision, { kind: 'wait' }>,
): Promise<void> {
  const { now, row, observed } = facts
  const cursor = settled ? (observed?.cursor ?? row.cursor) : null
  const next = new Date(now.getTime() + ms)
  const rests = row.state === 'needs_person'
  const over = rests && now.getTime() > row.updated_at.getTime() + RESTING_MS
  const dueAt = rests || next < row.until ? next : row.until
  const columns = { ...observedColumns(facts), awaits, cursor }
  await context.db.transaction(tx => release(tx, claim, columns, over ? NEVER : dueAt))
}

/** Lets a follow-up rest until a person resumes it. Nothing of its own is delivered any more. */
export async function needPerson(
  context: DeliveryContext,
  claim: FollowUpClaim,
  facts: Pick<Facts, 'now'> & Partial<Facts>,
  reason: FollowUpReason,
): Promise<void> {
  const { now } = facts
  const seen = facts.row === undefined || facts.observed === undefined ? {} : observedColumns(facts as Facts)
  await context.db.transaction(async tx => {
    await lockSession(tx, claim)
    if (reason !== 'question_open') await withdraw(tx, claim, now)
    const columns = { ...seen, state: 'needs_person', reason, cursor: null, updated_at: now, failures: 0 } as const
    const row = await release(tx, claim, columns, now)
    await appendEvents(tx, claim, [endedEvent(row)], now)
  })
  publish(context, claim)
}

/** Goes on after a question was answered. */
export async function resume(context: DeliveryContext, claim: FollowUpClaim, { now, turn }: Facts): Promise<void> {
  const state = turn === null ? 'watching' : 'working'
  await context.db.transaction(tx => release(tx, claim, { state, reason: null, updated_at: now, failures: 0 }, now))
  publish(context, claim)
}

/**
 * Ends a follow-up, because its pull request has ended or somebody asked at the host. The Session stays; its sandbox goes
 * if nothing is under way in it.
 */
export async function end(
  context: DeliveryContext,
  claim: FollowUpClaim,
  facts: Facts,
  ending: Extract<Decision, { kind: 'end' | 'stop' }>,
): Promise<void> {
  const { now } = facts
  const state = ending.kind === 'end' ? ending.state : 'stopped'
  const reason = ending.kind === 'end' ? null : 'person_asked'
  await context.db.transaction(async tx => {
    const session = await lockSession(tx, claim)
    await withdraw(tx, claim, now)
    const columns = { ...observedColumns(facts), state, reason, cursor: null, updated_at: now, ended_at: now } as const
    const row = await release(tx, claim, columns, state === 'stopped' ? now : NEVER)
    await appendEvents(tx, claim, [endedEvent(row)], now)
    if (ending.kind === 'stop') {
      const details = { pullRequest: row.pull_url, ...(ending.by !== null && { login: ending.by }) }
      const actor = { kind: 'service', id: null, name: null } as const
      const { organizationId, sessionId } = claim
      const entry = { organizationId, actor, action: 'follow_up.stopped', target: `session/${sessionId}` } as const
      await appendAudit(tx, { ...entry, outcome: 'done', details }, now)
    } else if (session !== null && session.active_run_id === null && !session.finalizing && session.lease_held) {
      const isIdle = !(await hasOpenPublication(tx, claim)) && (await isAllWorkSealed(tx, claim, session))
      if (isIdle && !(await sealTerminalWork(tx, claim, now))) await endLease(tx, claim, 'expired', now)
    }
  })
  publish(context, claim)
  context.wakeups.publish(topics.leases)
}

/** Takes back a Publication and a Merge of a follow-up that no host has been asked for. The caller holds the Session's lock. */
export async function withdraw(
  tx: Queryable,
  { row, ...key }: SessionKey & { readonly row: FollowUpRow },
  now: Date,
): Promise<void> {
  const last = row.turns.at(-1)
  if (last !== undefined) await withdrawPublication(tx, key, publicationIdOf(row, last.turnId), now)
  if (row.head_sha !== null) await withdrawMerge(tx, key, mergeIdOf(row, row.head_sha), now)
}

/** Wakes those who look at the Session, and the workers. */
export function publish(context: DeliveryContext, { organizationId, sessionId }: SessionKey): void {
  context.wakeups.publish(topics.session(organizationId, sessionId), topics.deliveries)
}
