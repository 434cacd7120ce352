import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'
import type { StoredFile, TurnRow } from './turn.ts'

export async function findTurn(db: Queryable, key: SessionKey, turnId: string): Promise<TurnRow | null> {
  return await queryRow<TurnRow>(db, {
    name: 'find-turn',
    text: 'select * from turns where organization_id = $1 and session_id = $2 and id = $3',
    values: [key.organizationId, key.sessionId, turnId],
  })
}

/** Lists the files of a Session's Turns that have one of these hashes, one for each. */
export async function listFilesByHash(
  db: Queryable,
  key: SessionKey,
  hashes: readonly string[],
): Promise<StoredFile[]> {
  const { rows } = await db.query<{ file: StoredFile }>({
    name: 'list-files-by-hash',
    text: `
      select distinct on (file ->> 'sha256') file from turns cross join lateral jsonb_array_elements(files) as file
      where organization_id = $1 and session_id = $2 and file ->> 'sha256' = any($3::text[])
      order by file ->> 'sha256', sequence`,
    values: [key.organizationId, key.sessionId, hashes],
  })
  return rows.map(({ file }) => file)
}

/** Lists Turns after a sequence, in order, on the sequence's unique key. The cursor may exceed the column's range. */
export async function listTurnsAfter(db: Queryable, key: SessionKey, after: number, limit: number): Promise<TurnRow[]> {
  return await queryRows<TurnRow>(db, {
    name: 'list-turns',
    text: `
      select * from turns where organization_id = $1 and session_id = $2 and sequence > $3::bigint
      order by sequence limit $4`,
    values: [key.organizationId, key.sessionId, after, limit],
  })
}

/**
 * Inserts a Turn with the next sequence of its Session, which the caller has locked.
 * @param title the Session's from now on; null if it keeps its own
 */
export async function insertTurnRow(
  tx: Queryable,
  organizationId: string,
  turn: TurnRow,
  title: string | null,
): Promise<void> {
  await tx.query({
    name: 'insert-turn',
    text: `
      with counted as (
        update sessions set turn_count = turn_count + 1, title = coalesce($19, title), ${movedIn}
        where organization_id = $1 and id = $2
      )
      insert into turns (organization_id, session_id, id, sequence, run_id, request_hash, message, reply_to, files,
        model, runtime, author_kind, author_id, created_at, output_schema,
        steering, effort, bring)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
    values: [
      organizationId,
      turn.session_id,
      turn.id,
      turn.sequence,
      turn.run_id,
      turn.request_hash,
      turn.message,
      turn.reply_to,
      JSON.stringify(turn.files),
      turn.model,
      turn.runtime,
      turn.author_kind,
      turn.author_id,
      turn.created_at,
      turn.output_schema,
      turn.steering,
      turn.effort,
      turn.bring === null ? null : JSON.stringify(turn.bring),
      title,
    ],
  })
}

/** Lists the Turns that a Run's agent is still to be given, in order, on `turns_steering`. */
export async function listSteering(db: Queryable, key: SessionKey, runId: string): Promise<TurnRow[]> {
  return await queryRows<TurnRow>(db, {
    name: 'list-steering',
    text: `
      select * from turns where organization_id = $1 and session_id = $2 and run_id = $3 and steering = 'waiting'
      order by sequence`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/** Marks Turns that the conversation of a Run's agent has. */
export async function markSteered(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  turnIds: readonly string[],
): Promise<void> {
  await tx.query({
    name: 'mark-steered',
    text: `
      update turns set steering = 'taken'
      where organization_id = $1 and session_id = $2 and run_id = $3 and id = any($4::uuid[]) and steering = 'waiting'`,
    values: [key.organizationId, key.sessionId, runId, turnIds],
  })
}

/** Offers the messages that a lost attempt has taken to the next attempt, whose conversation does not have it. */
export async function offerSteeringAgain(tx: Queryable, key: SessionKey, runId: string): Promise<void> {
  await tx.query({
    text: `
      update turns set steering = 'waiting'
      where organization_id = $1 and session_id = $2 and run_id = $3 and steering = 'taken'`,
    values: [key.organizationId, key.sessionId, runId],
  })
}
