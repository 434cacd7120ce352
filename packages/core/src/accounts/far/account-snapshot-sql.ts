import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { AccountSnapshot, Change, Revocations } from './wire.ts'

/**
 * Reads the rows behind a verdict, for an API that keeps copies of them. One statement reads rows and horizon, so a
 * change that the rows do not show has a position at or above the horizon.
 * @returns null if the organization is not there any more
 */
export async function readAccountSnapshot(
  db: Queryable,
  of: {
    readonly organizationId: string
    readonly installationId?: string | null
    readonly membershipId?: string | null
    readonly signInId?: string | null
    readonly apiKeyId?: string | null
  },
): Promise<AccountSnapshot | null> {
  return await queryRow<AccountSnapshot>(db, {
    name: 'read-standing',
    text: `
      select pg_snapshot_xmin(pg_current_snapshot())::text as as_of,
        jsonb_build_object('id', o.id, 'name', o.name, 'created_at', o.created_at, 'suspended_at', o.suspended_at,
          'cloud_access', o.cloud_access, 'rate_burst', o.rate_burst, 'rate_per_minute', o.rate_per_minute) as organization,
        case when i.id is not null then jsonb_build_object('id', i.id, 'app_slug', i.app_slug, 'app_name', a.name,
          'name', i.name, 'capabilities', i.capabilities, 'created_at', i.created_at, 'revoked_at', i.revoked_at)
        end as installation,
        case when m.id is not null then jsonb_build_object('id', m.id, 'person_id', p.id, 'person_name', p.name,
          'person_email', p.email, 'role', m.role, 'created_at', m.created_at, 'revoked_at', m.revoked_at)
        end as membership,
        case when p.id is not null then jsonb_build_object('id', p.id, 'disabled_at', p.disabled_at,
          'unlinked_at', p.unlinked_at) end as person,
        case when s.id is not null then jsonb_build_object('id', s.id, 'ended_at', s.ended_at) end as sign_in,
        $4::uuid as api_key_id
      from organizations o
      left join (installations i join apps a on a.slug = i.app_slug) on i.id = $2 and i.organization_id = o.id
      left join (memberships m join people p on p.id = m.person_id) on m.id = $3 and m.organization_id = o.id
      left join sign_ins s on s.id = $5 and s.membership_id = m.id
      where o.id = $1`,
    values: [
      of.organizationId,
      of.installationId ?? null,
      of.membershipId ?? null,
      of.apiKeyId ?? null,
      of.signInId ?? null,
    ],
  })
}

const PAGE = 500

/**
 * Reads what has changed after a cursor, on `authority_changes_in_order`, with the state of now. It stops below the oldest
 * transaction that has not ended, so a transaction that commits late is not passed over. A page holds whole transactions,
 * so a recovery comes with the ends of its sign-ins; only one that is larger than a page is split. A cursor that lies ahead of
 * every transaction is of another database, or of this one before it was restored: it starts again.
 * @param after `<position>.<id>`
 * @param kinds changes of other kinds are passed over
 */
export async function readAccountChanges(
  db: Queryable,
  after: string,
  kinds: readonly Change['kind'][],
): Promise<Revocations> {
  const [position = '0', id] = after.split('.')
  const { rows } = await db.query<{ position: string | null; id: string; kind: Change['kind']; row: Change['row'] }>({
    name: 'read-standing-changes',
    text: `
      with request as (
        select case when $1::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) then '0'::xid8 else $1::xid8 end as position)
      select c.position::text, c.id, c.kind,
        coalesce(to_jsonb(o), to_jsonb(i), to_jsonb(m), to_jsonb(p), to_jsonb(s)) as row
      from authority_changes c
      left join lateral (
        select id, name, suspended_at, cloud_access, rate_burst, rate_per_minute from organizations
        where c.kind = 'organization' and id = c.id) o on true
      left join lateral (
        select id, capabilities, revoked_at from installations where c.kind = 'installation' and id = c.id) i on true
      left join lateral (
        select id, revoked_at from memberships where c.kind = 'membership' and id = c.id) m on true
      left join lateral (select id, disabled_at, unlinked_at from people where c.kind = 'person' and id = c.id) p on true
      left join lateral (select id, ended_at from sign_ins where c.kind = 'sign_in' and id = c.id) s on true
      where c.kind = any ($4) and c.position < pg_snapshot_xmin(pg_current_snapshot())
        and (c.position, c.id) > ((select position from request), $2::uuid)
      order by c.position, c.id limit $3`,
    values: [position, id, PAGE, kinds],
  })
  const more = rows.length === PAGE
  const whole = more ? rows.filter(({ position: of }) => of !== rows.at(-1)?.position) : rows
  const page = whole.length > 0 ? whole : rows
  const last = page.at(-1)
  return {
    changes: page.map(({ kind, row }) => ({ kind, row }) as Change),
    cursor: last === undefined ? after : `${last.position}.${last.id}`,
    more,
  }
}

/**
 * Moves changes to the beginning whose positions no transaction of this database has had: they came with a copy of
 * another one, and would be taken for later than everything that follows.
 */
export async function repairPositions(db: Queryable): Promise<void> {
  await db.query(
    `update authority_changes set position = '0' where position >= pg_snapshot_xmax(pg_current_snapshot())`,
  )
}
