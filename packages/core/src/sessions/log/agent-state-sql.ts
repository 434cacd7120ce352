import type { Background, Plan } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'
import type { EventDraft } from './envelope.ts'

const setters: readonly string[] = ['svc.plan.updated', 'svc.conversation.cleared']

/** Returns the plan that Events leave, null for none; undefined if they leave the plan as it was. */
export function planAfter(events: readonly Pick<EventDraft, 'type' | 'data'>[]): Plan | null | undefined {
  const last = events.findLast(({ type }) => setters.includes(type))
  if (last === undefined) return undefined
  const plan = last.data as Partial<Plan>
  return plan.entries === undefined || plan.entries.length === 0 ? null : { ...plan, entries: plan.entries }
}

/** Stores the plan, in the transaction that appends the Event of it. */
export async function savePlan(tx: Queryable, key: SessionKey, plan: Plan | null): Promise<void> {
  await tx.query({
    name: 'save-plan',
    text: `update sessions set plan = $3, ${movedIn} where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId, plan === null ? null : JSON.stringify(plan)],
  })
}

/** Returns the plan as it was at a place of the log, by the log's primary key. */
export async function findPlanAt(db: Queryable, key: SessionKey, sequence: number): Promise<Plan | null> {
  const { rows } = await db.query<Pick<EventDraft, 'type' | 'data'>>({
    text: `
      select type, envelope::jsonb -> 'data' as data from events
      where organization_id = $1 and session_id = $2 and sequence <= $3 and type = any($4)
      order by sequence desc limit 1`,
    values: [key.organizationId, key.sessionId, sequence, setters],
  })
  return planAfter(rows) ?? null
}

/** Returns the commands in the background that Events leave; undefined if they leave them as they were. */
export function backgroundAfter(
  events: readonly Pick<EventDraft, 'type' | 'data'>[],
): { readonly commands: Background; readonly truncated?: true } | undefined {
  const last = events.findLast(({ type }) => type === 'svc.background.updated')
  return last?.data as { commands: Background; truncated?: true } | undefined
}

/** Stores the commands in the background of a lease, in the transaction that appends the Event of them. */
export async function saveBackground(
  tx: Queryable,
  key: SessionKey,
  background: { readonly leaseId: string; readonly commands: Background; readonly truncated?: true },
): Promise<void> {
  await tx.query({
    name: 'save-background',
    text: `update sessions set background = $3, ${movedIn} where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId, JSON.stringify(background)],
  })
}
