import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { LeaseRow } from './lease-sql.ts'

/** A lease with an agent that nobody asks anything, or that has ended. */
export interface IdleAgentRow extends LeaseRow {
  /** When its Session's newest Run ended. */
  readonly idle_since: Date
}

/**
 * Lists attached leases of hosts whose agents have had no Run for long and lose nothing if they end: they load their
 * conversation again, or keep none, and have no command in the background, which would end with them.
 */
export async function findIdleAgents(
  db: Queryable,
  hosts: readonly string[],
  since: Date,
  stateless: readonly string[],
): Promise<IdleAgentRow[]> {
  return await queryRows<IdleAgentRow>(db, {
    name: 'find-idle-agents',
    text: `
      select l.*, newest.ended_at as idle_since from leases l
      cross join lateral (
        select max(r.ended_at) as ended_at, bool_or(r.ended_at is null) as active from runs r
        where r.organization_id = l.organization_id and r.session_id = l.session_id
      ) newest
      where l.host = any ($1) and l.state = 'attached' and l.ended_at is null
        and l.agent_state <> 'none' and (l.agent_state = 'exited' or l.agent_loads_sessions or l.runtime = any ($3))
        and not newest.active and newest.ended_at <= $2
        and not exists (
          select 1 from sessions s
          where s.organization_id = l.organization_id and s.id = l.session_id
            and s.background @> jsonb_build_object('leaseId', l.id, 'commands', '[{"status": "running"}]'::jsonb))
        and not exists (
          select 1 from executions e
          where e.organization_id = l.organization_id and e.session_id = l.session_id and e.task is not null)`,
    values: [hosts, since, stateless],
  })
}
