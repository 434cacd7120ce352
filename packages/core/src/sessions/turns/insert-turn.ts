import { randomUUID } from 'node:crypto'
import type { OutputRequest } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { recordPast } from '@berth/platform/telemetry/observe.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { appendEvents } from '../log/append.ts'
import { cutMasked, cutText } from '../log/bounded-text.ts'
import { sessionRedactor } from '../log/session-redactor.ts'
import type { RunRow } from '../runs/run.ts'
import { insertRun } from '../runs/run-sql.ts'
import type { SessionRow } from '../session/session.ts'
import { deriveTitle } from '../session/title.ts'
import type { PlatformTurn } from './bring.ts'
import { type TurnIdentity, type TurnRow, turnHash } from './turn.ts'
import { insertTurnRow } from './turn-sql.ts'

export interface NewTurn extends TurnIdentity, PlatformTurn {
  readonly id: string
  readonly output: OutputRequest | null
  /** The message is for the agent at work, if one is. */
  readonly steers: boolean
  readonly author: Pick<Principal, 'kind' | 'id'>
  readonly now: Date
}

/** A Turn that was written, with its Run unless it joins another's. */
export interface InsertedTurn {
  readonly row: TurnRow
  readonly queued: RunRow | null
}

/**
 * Writes a Turn, its queued Run and its message in the transcript, in one round trip. The caller holds the Session's
 * lock.
 * @param joined the Run that the Turn answers or steers; it then queues no Run of its own
 */
export async function insertTurn(
  tx: Queryable,
  session: SessionRow,
  turn: NewTurn,
  joined?: string,
): Promise<InsertedTurn> {
  const key = { organizationId: session.organization_id, sessionId: session.id }
  const { model, effort, runtime } = session
  const runId = joined ?? randomUUID()
  tx.afterCommit?.(() => recordPast({ ...key, runId }, 'admit', { beganMs: turn.now.getTime() }))
  const row: TurnRow = {
    session_id: session.id,
    id: turn.id,
    sequence: session.turn_count,
    run_id: runId,
    request_hash: turnHash(turn),
    message: turn.message,
    reply_to: turn.replyTo,
    files: [...turn.files],
    output_schema: turn.output === null ? null : JSON.stringify(turn.output.schema),
    steering: joined !== undefined && turn.steers ? 'waiting' : null,
    bring: turn.bring ?? null,
    model,
    effort,
    runtime,
    author_kind: turn.author.kind,
    author_id: turn.author.id,
    created_at: turn.now,
  }
  const whole = cutText(turn.message)
  const text = whole.truncated ? cutMasked(await sessionRedactor(tx, key), turn.message) : whole
  const data = {
    messageId: randomUUID(),
    role: 'user',
    text: text.text,
    turnId: turn.id,
    ...(text.truncated && { truncated: true }),
  }
  const title = session.turn_count === 0 && session.title_is_derived ? deriveTitle(turn.message) : null
  const [queued] = await Promise.all([
    joined === undefined
      ? insertRun(tx, key, { id: runId, turnId: turn.id, runtime, model, effort, now: turn.now })
      : null,
    insertTurnRow(tx, session.organization_id, row, title),
    appendEvents(tx, key, [{ type: 'svc.message.created', runId, visibility: 'transcript', data }], turn.now),
  ])
  return { row, queued }
}
