import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable, Statement } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'

/**
 * Changes checkpoints of a Session and notes in `sealed_turns` whether the Run of its newest Turn has an intact one: while
 * that equals `turn_count`, the Session's work cannot be lost. Every statement that writes to `checkpoints` goes through here.
 *
 * The Session's lock comes first, and the note reads the checkpoints in a statement of its own: of two changes at a time the
 * later one sees both. All statements travel together.
 */
export async function changeCheckpoints(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  statements: readonly Statement[],
): Promise<void> {
  const values = [organizationId, sessionId]
  await Promise.all([
    tx.query({
      name: 'lock-session-of-checkpoints',
      text: 'select 1 from sessions where organization_id = $1 and id = $2 for no key update',
      values,
    }),
    ...statements.map(statement => tx.query(statement)),
    tx.query({ name: 'note-sealed-turns', text: noteSealedTurns, values }),
  ])
}

const noteSealedTurns = `
  with newest as (
    select (
      select s.turn_count from sessions s
      join turns t on t.organization_id = s.organization_id and t.session_id = s.id and t.sequence = s.turn_count - 1
      join checkpoints k on k.organization_id = s.organization_id and k.session_id = s.id and k.run_id = t.run_id
      where s.organization_id = $1 and s.id = $2 and k.damaged_at is null
    ) as sealed
  )
  update sessions set sealed_turns = newest.sealed, ${movedIn} from newest
  where organization_id = $1 and id = $2 and sealed_turns is distinct from newest.sealed`
