import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryChanged, queryRow } from '@berth/platform/storage/postgres/database.ts'
import { isLive } from './subscription-sql.ts'

/**
 * Queues notices of Sessions for the people of an organization: requests that are open, and Runs that have ended
 * with no other one active. A Session is somebody's if they started or opened it, and news if something happened since
 * they last looked. A queued notice is not queued again.
 * @param look.ids of the Sessions; null looks at all that have changed since
 * @param look.since earlier changes are not announced any more
 * @returns how much was queued
 */
export async function queueNews(
  db: Queryable,
  organizationId: string,
  window: { readonly ids: readonly string[] | null; readonly since: Date; readonly now: Date; readonly dueAt: Date },
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'queue-pushes',
    text: `
      insert into push_deliveries (id, subscription_id, organization_id, session_id, sequence, kind, subject,
        created_at, due_at)
      select gen_random_uuid(), p.id, s.organization_id, s.id, s.last_event_sequence, n.kind, s.id || '/' || n.subject,
        $4, $5
      from sessions s
      join push_subscriptions p on p.organization_id = s.organization_id
      left join session_marks m
        on m.organization_id = s.organization_id and m.session_id = s.id and m.person_id = p.person_id
      join lateral (
        select 'needs_you' as kind, i.id as subject, i.opened_at as at from interactions i
        where i.organization_id = s.organization_id and i.session_id = s.id and i.status = 'open' and p.needs_you
        union all
        select 'run_ended', r.id::text, r.ended_at from runs r
        where r.organization_id = s.organization_id and r.session_id = s.id and p.run_ended
          and r.status in ('completed', 'failed', 'crashed')
          and not exists (
            select from runs a
            where a.organization_id = s.organization_id and a.session_id = s.id and a.ended_at is null)
      -- What a fork has copied ended before there was the fork.
      ) n on n.at > greatest($3, p.created_at, s.created_at)
      where s.organization_id = $1 and s.archived_at is null and (
          s.id = any ($2::uuid[])
          or $2::uuid[] is null and s.listed_at >= date_trunc('second', $3::timestamptz at time zone 'UTC'))
        and (m.session_id is not null or p.person_id in (s.owner_id, s.initiated_by))
        and s.last_event_sequence > coalesce(m.read_sequence, 0)
      on conflict (subscription_id, kind, subject) do nothing`,
    values: [organizationId, window.ids, window.since, window.now, window.dueAt],
  })
  return rowCount
}

/** Queues a test. @returns false if the membership has no such subscription */
export async function queueTest(
  db: Queryable,
  {
    id,
    membershipId,
    subscriptionId,
    now,
  }: Readonly<Record<'id' | 'membershipId' | 'subscriptionId', string>> & {
    readonly now: Date
  },
): Promise<boolean> {
  return await queryChanged(db, {
    name: 'queue-push-test',
    text: `
      insert into push_deliveries (id, subscription_id, organization_id, kind, subject, created_at, due_at)
      select $1, id, organization_id, 'test', $5, $4, $4 from push_subscriptions
      where id = $2 and membership_id = $3`,
    values: [id, subscriptionId, membershipId, now, id],
  })
}

interface PushRow {
  readonly id: string
  readonly subscription_id: string
  readonly kind: 'needs_you' | 'run_ended' | 'test'
  readonly tries: number
  readonly created_at: Date
  readonly due_at: Date
  readonly ended_at: Date | null
}

/** A delivery that this process has claimed. */
export interface ClaimedPush extends PushRow {
  readonly claim: string
}

/**
 * The deliveries that processes share, one of each subscription at a time: one that never answers holds up none but
 * itself, and those that answer come first.
 */
export const claimedPushes = new ClaimedRows<PushRow>({
  table: 'push_deliveries',
  key: ['id'],
  due: `
    r.ended_at is null and r.due_at <= $1 and r.id = (
      select x.id from push_deliveries x
      where x.subscription_id = p.id and x.ended_at is null
      order by x.claimed_until > $1 desc nulls last, x.due_at, x.id limit 1)`,
  order: 'p.failures, r.due_at',
  join: { clause: 'join push_subscriptions p on p.id = r.subscription_id', columns: {} },
})

/** The present state of the Session of a claimed delivery. */
export interface PushNews {
  readonly sealed: Buffer
  readonly membership_id: string
  readonly session_id: string | null
  readonly title: string | null
  readonly interaction_kind: 'ask_user' | 'exit_plan_mode' | 'approval' | null
  readonly deadline: Date | null
  readonly run_status: 'completed' | 'stopped' | 'failed' | 'crashed' | null
}

/**
 * Reads the subject of a delivery.
 * @param since browsers that repeated their subscription before have ended it
 * @returns null if it is no news any more, or nobody may be told
 */
export async function readNews(db: Queryable, id: string, since: Date): Promise<PushNews | null> {
  return await queryRow<PushNews>(db, {
    name: 'read-push-news',
    text: `
      select p.sealed, p.membership_id, d.session_id, s.title, i.kind as interaction_kind, i.deadline,
        case when r.status = 'completed' and r.stop_reason <> 'completed' then 'stopped' else r.status end as run_status
      from push_deliveries d
      join push_subscriptions p on p.id = d.subscription_id
      left join sessions s
        on s.organization_id = d.organization_id and s.id = d.session_id and s.archived_at is null
      left join session_marks m
        on m.organization_id = s.organization_id and m.session_id = s.id and m.person_id = p.person_id
      left join interactions i
        on d.kind = 'needs_you' and i.organization_id = s.organization_id and i.session_id = s.id
          and i.id = substr(d.subject, 38) and i.status = 'open'
      left join runs r
        on d.kind = 'run_ended' and r.organization_id = s.organization_id and r.session_id = s.id
          and r.id::text = substr(d.subject, 38) and not exists (
            select from runs a
            where a.organization_id = s.organization_id and a.session_id = s.id and a.ended_at is null)
      where d.id = $1 and ${isLive('$2')} and (
        d.kind = 'test'
        or d.sequence > coalesce(m.read_sequence, 0) and (
          i.id is not null and p.needs_you or r.id is not null and p.run_ended))`,
    values: [id, since],
  })
}

/** Counts at a subscription whether a push was accepted. */
export async function countPush(db: Queryable, id: string, accepted: boolean, now: Date): Promise<void> {
  await db.query({
    name: 'count-push',
    text: `
      update push_subscriptions set failures = case when $2 then 0 else least(failures + 1, 1000000) end,
        pushed_at = case when $2 then $3 else pushed_at end
      where id = $1`,
    values: [id, accepted, now],
  })
}

/** Deletes a subscription that the push service has ended. */
export async function dropSubscription(db: Queryable, id: string): Promise<void> {
  await db.query({ name: 'drop-push-subscription', text: 'delete from push_subscriptions where id = $1', values: [id] })
}

/** Deletes deliveries that ended before a time. */
export async function forgetPushes(db: Queryable, before: Date): Promise<void> {
  await db.query({
    name: 'forget-pushes',
    text: 'delete from push_deliveries where ended_at < $1',
    values: [before],
  })
}
