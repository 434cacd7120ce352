import type { NextTurn, PutNextTurn } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { lockVisibleSession, readSession } from '@berth/core/sessions/session/read-session.ts'
import { findTurn } from '@berth/core/sessions/turns/turn-sql.ts'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { deleteNextTurn, findNextTurn, type NextTurnRow, writeNextTurnRow } from './next-turn-sql.ts'

/**
 * Writes the one message that waits in a Session. The Turn's id belongs to the caller, so a repeated request leaves one
 * message, and none if it has become a Turn meanwhile. An earlier message goes only if the caller names it: nobody's
 * text is lost to somebody, or to another device, who had not seen it.
 * @returns null if the message is a Turn already
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `cloud_turn_conflict` if the id is that of a Turn with another message
 * @throws ApiError 409 `cloud_next_turn_conflict` if another message waits than the caller names, or if that is
 *   somebody else's
 */
export async function writeNextTurn(
  context: Context,
  person: PersonPrincipal,
  key: SessionKey,
  { turnId, message, replaces }: PutNextTurn,
): Promise<NextTurn | null> {
  const now = context.clock.now()
  const written = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, person, key)
    if (session.archived_at !== null) throw sessionNotFound()
    const [admitted, before] = await Promise.all([findTurn(tx, key, turnId), findNextTurn(tx, key)])
    if (admitted !== null) {
      if (admitted.message !== message) throw refusal('cloud_turn_conflict')
      return null
    }
    if (!mayReplace(before, person, turnId, replaces)) throw refusal('cloud_next_turn_conflict')
    await writeNextTurnRow(tx, key, { turnId, message, authorId: person.id, now })
    return findNextTurn(tx, key)
  })
  if (written === null) return null
  // The Run may have ended while the message was written: the admitter looks again.
  context.wakeups.publish(topics.queue)
  return toNextTurn(written)
}

/** A refused message has no claim to the place, but its text goes only once somebody has seen it. */
function mayReplace(
  before: NextTurnRow | null,
  { id }: PersonPrincipal,
  turnId: string,
  replaces: string | undefined,
): boolean {
  if (before === null) return replaces === undefined
  if (before.author_id !== id && before.refused_code === null) return false
  return before.turn_id === turnId.toLowerCase() || before.turn_id === replaces?.toLowerCase()
}

/**
 * Takes back the message that waits in a Session, whoever wrote it.
 * @returns null if none waited
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function withdrawNextTurn(
  context: Context,
  person: PersonPrincipal,
  key: SessionKey,
): Promise<NextTurn | null> {
  return context.db.transaction(async tx => {
    // The lock makes one of two things true: the message was taken back, or it has become a Turn.
    await lockVisibleSession(tx, person, key)
    const row = await findNextTurn(tx, key)
    if (row === null) return null
    await deleteNextTurn(tx, key)
    return toNextTurn(row)
  })
}

/**
 * Returns the message that waits in a Session, or that was given back; null if there is none.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function readNextTurn(
  context: Context,
  person: PersonPrincipal,
  key: SessionKey,
): Promise<NextTurn | null> {
  await readSession(context, person, key)
  const row = await findNextTurn(context.db, key)
  return row === null ? null : toNextTurn(row)
}

function toNextTurn(row: NextTurnRow): NextTurn {
  return {
    turnId: row.turn_id,
    message: row.message,
    writtenBy: { id: row.author_id, name: row.author_name },
    writtenAt: row.written_at.toISOString(),
    refused: row.refused_code,
  }
}
