import type { TrialStop } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import {
  type Queryable,
  queryAny,
  queryChanged,
  queryRow,
  queryRows,
} from '@berth/platform/storage/postgres/database.ts'
import type { LeaseRow } from '../leases/lease-sql.ts'
import type { SessionRow } from '../session/session.ts'

/** How a trial has ended. */
export type TrialOutcome = 'succeeded' | 'failed' | TrialStop

type SessionPart = 'organization_id' | 'owner_kind' | 'owner_id' | 'initiated_by' | 'created_at'

/** A trial with what its Session, its sandbox and its log say of it. */
export interface TrialRow extends Pick<SessionRow, SessionPart> {
  readonly session_id: string
  readonly environment_id: string
  readonly expires_at: Date
  readonly ended_at: Date | null
  readonly outcome: TrialOutcome | null
  /** The revision of the newest sandbox; null before the first. */
  readonly revision: number | null
  readonly lease_state: LeaseRow['state'] | null
  /** The newest Event of an apply. */
  readonly envelope: string | null
}

export async function insertTrial(
  tx: Queryable,
  key: SessionKey,
  { endsAt, watchedUntil }: { readonly endsAt: Date; readonly watchedUntil: Date },
): Promise<void> {
  await tx.query({
    text: `
      insert into environment_trials (organization_id, session_id, expires_at, watched_until) values ($1, $2, $3, $4)`,
    values: [key.organizationId, key.sessionId, endsAt, watchedUntil],
  })
}

/** Counts the trials of an organization that have not ended, on `environment_trials_live`. */
export async function countLiveTrials(tx: Queryable, organizationId: string): Promise<number> {
  const { rows } = await tx.query<{ count: number }>({
    text: 'select count(*)::int as count from environment_trials where organization_id = $1 and ended_at is null',
    values: [organizationId],
  })
  return rows[0]?.count ?? 0
}

export async function findTrial(db: Queryable, key: SessionKey): Promise<TrialRow | null> {
  return await queryRow<TrialRow>(db, {
    name: 'find-trial',
    text: `
      select t.organization_id, t.session_id, t.expires_at, t.ended_at, t.outcome, s.owner_kind, s.owner_id, s.initiated_by,
        s.created_at, s.environment_id, l.revision, l.lease_state, v.envelope
      from environment_trials t
      join sessions s on s.organization_id = t.organization_id and s.id = t.session_id
      left join lateral (
        select environment_revision as revision, state as lease_state from leases
        where organization_id = t.organization_id and session_id = t.session_id
        order by created_at desc limit 1
      ) l on true
      left join lateral (
        select envelope from events
        where organization_id = t.organization_id and session_id = t.session_id and type = 'svc.environment.apply'
        order by sequence desc limit 1
      ) v on true
      where t.organization_id = $1 and t.session_id = $2`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Notes that somebody follows a live trial. Never shortens what another follower has noted. */
export async function watchTrial(db: Queryable, key: SessionKey, until: Date): Promise<void> {
  await db.query({
    name: 'watch-trial',
    text: `
      update environment_trials set watched_until = $3
      where organization_id = $1 and session_id = $2 and ended_at is null and watched_until < $3`,
    values: [key.organizationId, key.sessionId, until],
  })
}

/** Ends a trial. @returns false if it has ended already, or is none */
export async function finishTrial(tx: Queryable, key: SessionKey, outcome: TrialOutcome, now: Date): Promise<boolean> {
  return await queryChanged(tx, {
    text: `
      update environment_trials set ended_at = $4, outcome = $3
      where organization_id = $1 and session_id = $2 and ended_at is null`,
    values: [key.organizationId, key.sessionId, outcome, now],
  })
}

export interface LapsedTrial extends SessionKey {
  readonly stop: TrialStop
}

/** Lists live trials that are past their bound, or that nobody follows any more. */
export async function findLapsedTrials(db: Queryable, now: Date, limit: number): Promise<readonly LapsedTrial[]> {
  return await queryRows<LapsedTrial>(db, {
    text: `
      select organization_id as "organizationId", session_id as "sessionId",
        case when expires_at <= $1 then 'overdue' else 'unwatched' end as stop
      from environment_trials where ended_at is null and least(expires_at, watched_until) <= $1
      order by least(expires_at, watched_until) limit $2`,
    values: [now, limit],
  })
}

/** Returns whether a live trial is past its bound, or no longer followed. The caller holds the Session's lock. */
export async function hasLapsed(tx: Queryable, key: SessionKey, now: Date): Promise<boolean> {
  return await queryAny(tx, {
    text: `
      select 1 from environment_trials
      where organization_id = $1 and session_id = $2 and ended_at is null and least(expires_at, watched_until) <= $3`,
    values: [key.organizationId, key.sessionId, now],
  })
}
