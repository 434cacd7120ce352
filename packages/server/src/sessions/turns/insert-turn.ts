import { randomUUID } from 'node:crypto'
import type { Principal } from '../../identity/guard/principal.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import { cutMasked, cutText } from '../log/bounded-text.ts'
import { sessionRedactor } from '../log/session-redactor.ts'
import { queueRun } from '../runs/queue-run.ts'
import type { RunRow } from '../runs/run.ts'
import type { SessionRow } from '../session/session.ts'
import { type StoredFile, type TurnRow, turnHash } from './turn.ts'
import { insertTurnRow } from './turn-sql.ts'

export interface NewTurn {
  readonly id: string
  readonly message: string
  readonly replyTo: string | null
  readonly files: readonly StoredFile[]
  readonly author: Pick<Principal, 'kind' | 'id'>
  readonly now: Date
}

/** A Turn that was written, with its Run unless it resumes another's. */
export interface InsertedTurn {
  readonly row: TurnRow
  readonly queued: RunRow | null
}

/**
 * Writes a Turn, its queued Run and its message in the transcript, in one round trip. The caller holds the Session's
 * lock.
 * @param resumed the Run that the Turn answers, if it is an answer; it then queues no Run of its own
 */
export async function insertTurn(
  tx: Queryable,
  session: SessionRow,
  turn: NewTurn,
  resumed?: string,
): Promise<InsertedTurn> {
  const key = { organizationId: session.organization_id, sessionId: session.id }
  const { model, runtime } = session
  const runId = resumed ?? randomUUID()
  const row: TurnRow = {
    session_id: session.id,
    id: turn.id,
    sequence: session.turn_count,
    run_id: runId,
    request_hash: turnHash(turn.message, turn.replyTo, turn.files),
    message: turn.message,
    reply_to: turn.replyTo,
    files: [...turn.files],
    model,
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
  const [queued] = await Promise.all([
    resumed === undefined ? queueRun(tx, key, { id: runId, turnId: turn.id, runtime, model, now: turn.now }) : null,
    insertTurnRow(tx, session.organization_id, row),
    appendEvents(tx, key, [{ type: 'svc.message.created', runId, visibility: 'transcript', data }], turn.now),
  ])
  return { row, queued }
}
