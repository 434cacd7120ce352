import { followUpLimits, limits } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { DeliveryContext } from '../../delivery/delivery-context.ts'
import type { FollowedTurn } from '../follow-ups/follow-up.ts'
import { attemptedEvent } from '../follow-ups/follow-up-event.ts'
import type { FollowUpClaim } from '../follow-ups/follow-up-sql.ts'
import { appendEvents } from '../log/append.ts'
import { sessionRedactor } from '../log/session-redactor.ts'
import { lockSession } from '../session/session-sql.ts'
import { beginTurn } from '../turns/admit-turn.ts'
import { findTurn } from '../turns/turn-sql.ts'
import type { FollowedEvent } from './facts.ts'
import { readFirstMessage } from './facts-sql.ts'
import type { FollowedSource, Gathered } from './gather.ts'
import { turnIdOf } from './step-ids.ts'
import { FollowUpTaken, needPerson, observedColumns, publish, release } from './steps.ts'
import { scriptText, threadsOf, turnText } from './turn-text.ts'

/** Keys of events that a row keeps; a pull request with more gets older comments again as replays of their Turns. */
const SEEN_MOST = 2_000

/**
 * Makes the Turn of an event, in the transaction that records it: the same event makes no second one. A Session in which
 * somebody else was faster waits for its next look.
 * @throws FollowUpTaken, GitHostError
 */
export async function beginEvent(
  context: DeliveryContext,
  claim: FollowUpClaim,
  { facts, session }: Gathered,
  source: FollowedSource,
  event: FollowedEvent,
  signal: AbortSignal,
): Promise<void> {
  const { db } = context
  const { now, row } = facts
  const message = await messageOf(context, claim, { facts, session }, source, event, signal)
  const turnId = turnIdOf(row, event.key)
  const turn: FollowedTurn = {
    turnId,
    cause: event.cause,
    key: event.key,
    at: now.toISOString(),
    threads: threadsOf(event),
  }
  try {
    await db.transaction(async tx => {
      const locked = await lockSession(tx, claim)
      if (locked === null) throw new FollowUpTaken()
      const author = { kind: row.started_by_kind, id: row.started_by_id }
      const { bring } = event
      if ((await findTurn(tx, claim, turnId)) === null) {
        const request = { id: turnId, message, replyTo: null, files: [], output: null, steers: false, author, now }
        await beginTurn(context, tx, locked, { ...request, ...(bring.length > 0 && { bring }) })
      }
      const seen = [...new Set([...row.seen, event.key, ...event.seen])].slice(-SEEN_MOST)
      const turns = [...row.turns, turn]
      const columns = {
        ...observedColumns(facts),
        state: 'working',
        turns,
        seen,
        cursor: null,
        updated_at: now,
      } as const
      const written = await release(tx, claim, { ...columns, attempts: row.attempts + 1 }, now)
      await appendEvents(tx, claim, [attemptedEvent(written, turn)], now)
    })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'cloud_run_in_progress' || error.status >= 500) throw new NotNow(error)
    const isOver = error.code === 'cloud_turn_limit_reached' || error.code === 'cloud_resume_unavailable'
    return needPerson(context, claim, facts, isOver || error.status === 404 ? 'session_ended' : 'run_failed')
  }
  publish(context, claim)
  context.wakeups.publish(topics.queue)
}

/** Thrown if a step may succeed a little later. */
export class NotNow extends Error {
  override readonly name = 'NotNow'

  constructor(cause: unknown) {
    super('a step of a follow-up is not possible now', { cause })
  }
}

async function messageOf(
  context: DeliveryContext,
  key: FollowUpClaim,
  { facts, session }: Pick<Gathered, 'facts' | 'session'>,
  { following, repository, baseBranch }: FollowedSource,
  event: FollowedEvent,
  signal: AbortSignal,
): Promise<string> {
  const { db, runtimes } = context
  const redactor = await sessionRedactor(db, key)
  const most = Math.floor(followUpLimits.logBytes / Math.max(1, event.checks.length))
  const logs = new Map<string, string>()
  for (const check of event.checks) {
    if (check.id === null) continue
    const log = await following.checkLog(repository, check, most, signal)
    // A log of which the host has cut the beginning may begin within a secret.
    logs.set(check.id, redactor.ending(log, Buffer.byteLength(log) > most / 2))
  }
  const { pull_number: number, pull_url: url } = facts.row
  const text = turnText({ number, url, baseBranch }, event, logs, redactor)
  const isScript = session.runtime !== null && runtimes.find(session.runtime)?.isScript === true
  if (!isScript) return [...text].slice(0, limits.messageCharacters).join('')
  const program = await readFirstMessage(db, key)
  // Each quote of the text becomes four characters of the script.
  const room = Math.max(0, Math.floor((limits.messageCharacters - program.length - 1_000) / 4))
  return scriptText(program, event, [...text].slice(0, room).join(''))
}
