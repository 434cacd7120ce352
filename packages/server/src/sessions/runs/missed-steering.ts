import { randomUUID } from 'node:crypto'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { EventDraft } from '../log/envelope.ts'
import { queueRun } from './queue-run.ts'

/** A Turn that its Run's agent was not given in time. */
interface MissedTurn {
  readonly id: string
  readonly runtime: string | null
  readonly model: string | null
}

/** Marks the Turns that a Run's agent was not given as missed, and returns them in order. */
export async function missSteering(tx: Queryable, key: SessionKey, runId: string): Promise<readonly MissedTurn[]> {
  const { rows } = await tx.query<MissedTurn>({
    name: 'miss-steering',
    text: `
      with missed as (
        update turns set steering = 'missed'
        where organization_id = $1 and session_id = $2 and run_id = $3 and steering = 'waiting'
        returning id, runtime, model, sequence
      )
      select id, runtime, model from missed order by sequence`,
    values: [key.organizationId, key.sessionId, runId],
  })
  return rows
}

/**
 * Lets the first missed Turn begin a Run of its own, which the others join. The caller has ended the other Run, under the
 * Session's lock.
 *
 * @returns the Events that tell of it, which belong before the other Run's end
 */
export async function beginMissed(
  tx: Queryable,
  key: SessionKey,
  [first, ...others]: readonly [MissedTurn, ...MissedTurn[]],
  runId: string,
  now: Date,
): Promise<EventDraft[]> {
  const nextRunId = randomUUID()
  const { id: turnId, runtime, model } = first
  await Promise.all([
    queueRun(tx, key, { id: nextRunId, turnId, runtime, model, now }),
    moveTurns(tx, key, { runId: nextRunId, turnId, joining: others.map(({ id }) => id) }),
  ])
  return [first, ...others].map(({ id }) => missed(runId, id, nextRunId))
}

/** Returns the Event that tells of a missed Turn. */
export const missed = (runId: string, turnId: string, nextRunId?: string): EventDraft => ({
  type: 'svc.turn.steered',
  runId,
  data: { turnId, status: 'missed', ...(nextRunId !== undefined && { nextRunId }) },
})

async function moveTurns(
  tx: Queryable,
  key: SessionKey,
  { runId, turnId, joining }: { readonly runId: string; readonly turnId: string; readonly joining: readonly string[] },
): Promise<void> {
  await tx.query({
    text: `
      update turns set run_id = $3, steering = case when id = $4 then 'missed' else 'waiting' end
      where organization_id = $1 and session_id = $2 and (id = $4 or id = any($5::uuid[]))`,
    values: [key.organizationId, key.sessionId, runId, turnId, joining],
  })
}
