import type { MergeStatus, SessionState } from '@berth/contract'
import { hasLostWork } from '@berth/core/sessions/session/lost-work-sql.ts'
import type { RunStatus } from '@berth/core/sessions/session/phase.ts'
import { statusColumns, statusJoins } from '@berth/core/sessions/session/status-sql.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { isSnoozed } from './mark-sql.ts'

/** The members that lists add to a Session, for one person. */
export interface SessionStateRow {
  readonly id: string
  readonly title: string
  readonly last_event_sequence: number
  readonly updated_at: Date
  readonly archived: boolean
  readonly active_run_status: RunStatus | null
  readonly finalizing: boolean
  readonly status: SessionState['status']
  readonly last_run: SessionState['lastRun']
  readonly open_interactions: number
  /** Kind of the Interaction that has to be answered first. */
  readonly first_kind: 'ask_user' | 'exit_plan_mode' | 'approval' | null
  readonly first_deadline: Date | null
  /** Newest Event that the person has seen; null if they never opened the Session and did not start it. */
  readonly read_sequence: number | null
  readonly pinned: boolean
  readonly snoozed: boolean
  readonly snoozed_until: Date | null
  /** How often the person's marks of viewed files have changed. */
  readonly viewed_marks: number
  readonly work_lost: boolean
  readonly cost_usd: number
  readonly pull: { readonly number: number; readonly url: string; readonly draft: boolean } | null
  readonly merge_status: MergeStatus | null
  readonly started_by: string | null
  readonly started_by_name: string | null
  readonly started_through: SessionState['startedThrough']
}

/** Reads the state of Sessions of an organization; those that are not there are left out. */
export async function readSessionStates(
  db: Queryable,
  { organizationId, personId }: { readonly organizationId: string; readonly personId: string },
  ids: readonly string[],
): Promise<readonly SessionStateRow[]> {
  if (ids.length === 0) return []
  return await queryRows<SessionStateRow>(db, {
    name: 'read-session-states',
    text: `
      select s.id, s.title, s.last_event_sequence, s.updated_at, s.archived_at is not null as archived,
        r.status as active_run_status, coalesce(e.task = 'seal', false) as finalizing,
        coalesce(i.open, 0) as open_interactions, i.first_kind, i.first_deadline,
        case when m.session_id is not null or $2 in (s.owner_id, s.initiated_by)
          then coalesce(m.read_sequence, 0) end as read_sequence,
        m.pinned_at is not null as pinned, coalesce(${isSnoozed}, false) as snoozed, m.snoozed_until, coalesce(m.viewed_marks, 0) as viewed_marks,
        ${hasLostWork('s')} as work_lost, coalesce(c.usd, 0)::double precision as cost_usd,
        p.pull, p.merge_status,${statusColumns}, person.id as started_by, person.name as started_by_name,
        case when s.owner_kind = 'app_installation' and s.initiated_by is null then coalesce(
          (select jsonb_build_object('kind', 'trigger', 'name', t.name) from triggers t
            where t.organization_id = s.organization_id and t.installation_id = s.owner_id
              and s.origin ->> 'objectType' = 'trigger' and t.id::text = s.origin ->> 'objectId'),
          (select jsonb_build_object('kind', 'integration', 'name', coalesce(n.name, a.name))
            from installations n join apps a on a.slug = n.app_slug
            where n.organization_id = s.organization_id and n.id = s.owner_id)) end as started_through
      from sessions s
      left join runs r on r.organization_id = s.organization_id and r.session_id = s.id and r.ended_at is null
      left join executions e on e.organization_id = s.organization_id and e.session_id = s.id
      left join lateral (
        select count(*)::integer as open, (array_agg(kind order by deadline nulls last, opened_at))[1] as first_kind,
          min(deadline) as first_deadline
        from interactions where organization_id = s.organization_id and session_id = s.id and status = 'open'
      ) i on true
      left join session_marks m
        on m.organization_id = s.organization_id and m.session_id = s.id and m.person_id = $2
      left join lateral (
        select sum(cost_usd) as usd from runs where organization_id = s.organization_id and session_id = s.id
      ) c on true
      ${statusJoins}
      left join people person
        on person.id = coalesce(s.initiated_by, case when s.owner_kind = 'person' then s.owner_id end)
      where s.organization_id = $1 and s.id = any($3::uuid[])
      order by s.updated_at, s.id`,
    values: [organizationId, personId, ids],
  })
}

/** Returns the organizations in which a person is a member and a Session has this id. */
export async function findSessionLocations(
  db: Queryable,
  personId: string,
  sessionId: string,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ organization_id: string }>({
    name: 'find-session-locations',
    text: `
      select s.organization_id from memberships m
      join organizations o on o.id = m.organization_id
      join sessions s on s.organization_id = m.organization_id and s.id = $2 and not s.is_trial
      where m.person_id = $1 and m.revoked_at is null and o.suspended_at is null
      order by m.last_used_at desc nulls last, m.id`,
    values: [personId, sessionId],
  })
  return rows.map(row => row.organization_id)
}
