import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** More decisions of one Session are not counted. */
const MOST_DECISIONS = 1000

/** A question of the agent that somebody decided. */
export interface DecisionRow {
  readonly kind: 'exit_plan_mode' | 'approval'
  readonly request: string
  readonly choice: string | null
  readonly resolution: string | null
  readonly by_kind: string | null
  readonly by_id: string | null
}

/** Lists what people and installations decided in a Session, oldest first; what a rule decided is left out. */
export async function listDecisions(db: Queryable, key: SessionKey): Promise<DecisionRow[]> {
  return await queryRows<DecisionRow>(db, {
    name: 'list-decisions',
    text: `
      select i.kind, i.request, i.choice, i.resolution,
        coalesce(i.decided_by_kind, t.author_kind) as by_kind, coalesce(i.decided_by_id, t.author_id) as by_id
      from interactions i
      left join turns t
        on t.organization_id = i.organization_id and t.session_id = i.session_id and t.id = i.response_turn_id
      where i.organization_id = $1 and i.session_id = $2 and i.status = 'resolved'
        and i.kind in ('exit_plan_mode', 'approval') and coalesce(i.decided_by_id, t.author_id) is not null
      order by i.opened_at, i.id limit ${MOST_DECISIONS}`,
    values: [key.organizationId, key.sessionId],
  })
}
