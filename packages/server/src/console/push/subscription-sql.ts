import { type Queryable, queryChanged, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'

/** A browser of a membership. */
export interface SubscriptionRow {
  readonly id: string
  readonly agent: string | null
  readonly needs_you: boolean
  readonly run_ended: boolean
  readonly created_at: Date
  readonly pushed_at: Date | null
  readonly failures: number
}

/** Whose subscription it is. */
export interface Subscriber {
  readonly membershipId: string
  readonly organizationId: string
  readonly personId: string
  readonly signInId: string
}

/** A subscription as a browser asks for it. */
export interface NewSubscription {
  readonly id: string
  readonly endpointDigest: Uint8Array
  readonly sealed: Uint8Array
  readonly agent: string | null
  readonly needsYou: boolean
  readonly runEnded: boolean
}

const columns = 'id, agent, needs_you, run_ended, created_at, pushed_at, failures'

/**
 * SQL that is true while a subscription `p` may be pushed to: by its person, sign-in, membership and organization, and
 * because its browser has repeated it since `since`.
 */
export const isLive = (since: string, p = 'p'): string => `(
  ${p}.seen_at > ${since} and exists (
    select from people x, memberships m, organizations o, sign_ins s
    where x.id = ${p}.person_id and x.disabled_at is null
      and m.id = ${p}.membership_id and m.revoked_at is null
      and o.id = ${p}.organization_id and o.suspended_at is null and o.cloud_access
      and s.id = ${p}.sign_in_id and s.ended_at is null))`

/** Lists the live subscriptions of a membership, the newest first. */
export async function listSubscriptions(
  db: Queryable,
  membershipId: string,
  since: Date,
): Promise<readonly SubscriptionRow[]> {
  return await queryRows<SubscriptionRow>(db, {
    name: 'list-push-subscriptions',
    text: `
      select ${columns} from push_subscriptions p where membership_id = $1 and ${isLive('$2')}
      order by created_at desc, id`,
    values: [membershipId, since],
  })
}

/**
 * Writes a subscription. A browser that another person used before is theirs no more, and a browser that has lost its id
 * gets a new row in the place of the old one.
 * @param most so many a membership has at most; the ones that were not repeated for the longest time give way
 * @returns null if the id is another membership's
 */
export async function putSubscription(
  tx: Queryable,
  of: Subscriber,
  given: NewSubscription,
  now: Date,
  most: number,
): Promise<SubscriptionRow | null> {
  await tx.query({
    name: 'displace-push-subscriptions',
    text: `
      delete from push_subscriptions
      where endpoint_digest = $1 and (person_id <> $2 or membership_id = $3 and id <> $4)
        and not exists (select from push_subscriptions where id = $4 and membership_id <> $3)`,
    values: [given.endpointDigest, of.personId, of.membershipId, given.id],
  })
  const { rows } = await tx.query<SubscriptionRow>({
    name: 'put-push-subscription',
    text: `
      insert into push_subscriptions as p (id, membership_id, organization_id, person_id, sign_in_id, endpoint_digest,
        sealed, agent, needs_you, run_ended, created_at, seen_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
      on conflict (id) do update set sign_in_id = excluded.sign_in_id, endpoint_digest = excluded.endpoint_digest,
        sealed = excluded.sealed, agent = excluded.agent, needs_you = excluded.needs_you,
        run_ended = excluded.run_ended, seen_at = excluded.seen_at
      where p.membership_id = excluded.membership_id
      returning ${columns}`,
    values: [
      ...[given.id, of.membershipId, of.organizationId, of.personId, of.signInId, given.endpointDigest, given.sealed],
      ...[given.agent, given.needsYou, given.runEnded, now],
    ],
  })
  await tx.query({
    name: 'bound-push-subscriptions',
    text: `
      delete from push_subscriptions where id in (
        select id from push_subscriptions where membership_id = $1 and id <> $2
        order by seen_at desc, id offset $3::integer - 1)`,
    values: [of.membershipId, given.id, most],
  })
  return rows[0] ?? null
}

/** Deletes a subscription of a membership, with what is to be pushed. @returns false if it has none of this id */
export async function deleteSubscription(db: Queryable, membershipId: string, id: string): Promise<boolean> {
  return await queryChanged(db, {
    name: 'delete-push-subscription',
    text: 'delete from push_subscriptions where membership_id = $1 and id = $2',
    values: [membershipId, id],
  })
}

/** Deletes subscriptions that have ended. @returns how many there were */
export const forgetSubscriptions = (db: Queryable, since: Date, signal: AbortSignal): Promise<number> =>
  deleteInBatches(db, { table: 'push_subscriptions', where: `not ${isLive('$1', 'r')}`, values: [since] }, signal)

/** Lists the organizations of which some browser is pushed to. */
export async function listPushedOrganizations(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ organization_id: string }>({
    name: 'list-pushed-organizations',
    text: 'select distinct organization_id from push_subscriptions',
  })
  return rows.map(row => row.organization_id)
}
