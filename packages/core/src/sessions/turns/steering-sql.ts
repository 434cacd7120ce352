import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { TurnRow } from './turn.ts'

/** Lists the Turns that a Run's agent is still to be given, in order, on `turns_steering`. */
export async function listSteering(db: Queryable, key: SessionKey, runId: string): Promise<TurnRow[]> {
  const { rows } = await db.query<TurnRow>({
    name: 'list-steering',
    text: `
      select * from turns where organization_id = $1 and session_id = $2 and run_id = $3 and steering = 'waiting'
      order by sequence`,
    values: [key.organizationId, key.sessionId, runId],
  })
  return rows
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
