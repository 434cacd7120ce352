import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

export interface NextTurnRow {
  readonly turn_id: string
  readonly message: string
  readonly author_id: string
  readonly author_name: string
  readonly written_at: Date
  readonly refused_code: string | null
}

/** A message that waits for nothing any more. */
export interface DueNextTurn extends SessionKey {
  readonly turnId: string
}

/** Reads the message that waits in a Session, or that was given back. */
export async function findNextTurn(db: Queryable, key: SessionKey): Promise<NextTurnRow | null> {
  return await queryRow<NextTurnRow>(db, {
    name: 'find-next-turn',
    text: `
      select n.turn_id, n.message, n.author_id, p.name as author_name, n.written_at, n.refused_code
      from next_turns n join people p on p.id = n.author_id
      where n.organization_id = $1 and n.session_id = $2`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Writes the message that waits in a Session, which the caller has locked. */
export async function writeNextTurnRow(
  tx: Queryable,
  key: SessionKey,
  { turnId, message, authorId, now }: { turnId: string; message: string; authorId: string; now: Date },
): Promise<void> {
  await tx.query({
    name: 'write-next-turn',
    text: `
      insert into next_turns (organization_id, session_id, turn_id, message, author_id, written_at)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (organization_id, session_id) do update
        set turn_id = excluded.turn_id, message = excluded.message, author_id = excluded.author_id,
          written_at = excluded.written_at, refused_code = null`,
    values: [key.organizationId, key.sessionId, turnId, message, authorId, now],
  })
}

/** Deletes the message of a Session. */
export async function deleteNextTurn(db: Queryable, key: SessionKey): Promise<void> {
  await db.query({
    name: 'delete-next-turn',
    text: 'delete from next_turns where organization_id = $1 and session_id = $2',
    values: [key.organizationId, key.sessionId],
  })
}

/** Keeps why a message did not become a Turn, unless it was withdrawn or replaced since. */
export async function refuseNextTurn(db: Queryable, key: SessionKey, turnId: string, code: string): Promise<void> {
  await db.query({
    name: 'refuse-next-turn',
    text: `
      update next_turns set refused_code = $4 where organization_id = $1 and session_id = $2 and turn_id = $3`,
    values: [key.organizationId, key.sessionId, turnId, code],
  })
}

/** Lists Sessions without an active Run in which a message waits, the oldest message first. */
export async function findDueNextTurns(db: Queryable, limit: number): Promise<DueNextTurn[]> {
  const { rows } = await db.query<{ organization_id: string; session_id: string; turn_id: string }>({
    name: 'find-due-next-turns',
    text: `
      select n.organization_id, n.session_id, n.turn_id from next_turns n
      where n.refused_code is null and not exists (
        select from runs r
        where r.organization_id = n.organization_id and r.session_id = n.session_id and r.ended_at is null)
      order by n.written_at limit $1`,
    values: [limit],
  })
  return rows.map(row => ({ organizationId: row.organization_id, sessionId: row.session_id, turnId: row.turn_id }))
}
