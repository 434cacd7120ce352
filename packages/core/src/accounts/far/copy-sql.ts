import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { AccountSnapshot, Change } from './wire.ts'

/** Returns whether all rows of a standing are copied, and the copies stop nothing that the standing lets in. */
export async function hasCopies(
  db: Queryable,
  { organization, installation, membership, person, api_key_id }: AccountSnapshot,
  signInId: string | null,
): Promise<boolean> {
  const { rows } = await db.query<{ all: boolean }>({
    name: 'has-copies',
    text: `
      select exists (select 1 from organizations where id = $1 and suspended_at is null and cloud_access = $5)
        and ($2::uuid is null or exists (select 1 from installations where id = $2 and capabilities = $6))
        and ($3::uuid is null or exists (
          select 1 from memberships m join people p on p.id = m.person_id
          where m.id = $3 and (p.disabled_at is null) = $8))
        and ($4::uuid is null or exists (select 1 from api_keys where id = $4))
        and ($7::uuid is null or exists (select 1 from sign_ins where id = $7)) as all`,
    values: [
      organization.id,
      installation?.id ?? null,
      membership?.id ?? null,
      api_key_id,
      organization.cloud_access,
      installation?.capabilities ?? null,
      signInId,
      person?.disabled_at == null,
    ],
  })
  return rows[0]?.all === true
}

/** Locks the place in the feed, and moves it back to a horizon that lies before it. */
export async function returnFeedTo(tx: Queryable, horizon: string): Promise<void> {
  await tx.query({
    name: 'return-feed',
    text: `
      update deployment set
        feed_position = least(feed_position, $1::xid8),
        feed_last_id = case
          when feed_position >= $1::xid8 then '00000000-0000-0000-0000-000000000000' else feed_last_id end`,
    values: [horizon],
  })
}

/**
 * Inserts the copies that are missing, in the state that the account service told, and renews those whose state may come
 * back. Rules that span rows are kept over
 * there, so a copy must never break one: emails are not copied, since they move between people, and of a person's
 * memberships in an organization the newest is taken for the live one.
 */
export async function putCopies(tx: Queryable, snapshot: AccountSnapshot, now: Date): Promise<void> {
  const { organization, installation, membership, person, api_key_id } = snapshot
  await tx.query({
    name: 'copy-organization',
    text: `
      insert into organizations (id, name, created_at, suspended_at, cloud_access, rate_burst, rate_per_minute)
      select id, name, created_at, suspended_at, cloud_access, rate_burst, rate_per_minute from jsonb_to_record($1) as o(
        id uuid, name text, created_at timestamptz, suspended_at timestamptz, cloud_access boolean, rate_burst integer,
        rate_per_minute integer)
      on conflict (id) do update set suspended_at = excluded.suspended_at, cloud_access = excluded.cloud_access`,
    values: [JSON.stringify(organization)],
  })
  if (installation !== null) {
    await tx.query({
      name: 'copy-app',
      text: 'insert into apps (slug, name, created_at) values ($1, $2, $3) on conflict (slug) do nothing',
      values: [installation.app_slug, installation.app_name, now],
    })
    await tx.query({
      name: 'copy-installation',
      text: `
        insert into installations (id, organization_id, app_slug, capabilities, created_at, revoked_at, kind, name)
        select id, $2, app_slug, array(select jsonb_array_elements_text(capabilities)), created_at, revoked_at, 'far', name
        from jsonb_to_record($1) as i(
          id uuid, app_slug text, capabilities jsonb, created_at timestamptz, revoked_at timestamptz, name text)
        on conflict (id) do update set capabilities = excluded.capabilities`,
      values: [JSON.stringify(installation), organization.id],
    })
    if (api_key_id !== null) await insertKeyCopy(tx, api_key_id, installation.id, now)
  }
  if (membership !== null) {
    await putPersonCopy(tx, membership, person, now)
    await insertMembershipCopy(tx, membership, organization.id, now)
  }
}

/** A copied key opens nothing here: its digest is its id, and no secret has a digest of 16 bytes. */
async function insertKeyCopy(tx: Queryable, id: string, installationId: string, now: Date): Promise<void> {
  await tx.query({
    name: 'copy-key',
    text: `
      insert into api_keys (id, installation_id, kind, digest, created_at)
      values ($1::uuid, $2, 'ai', uuid_send($1::uuid), $3) on conflict (id) do nothing`,
    values: [id, installationId, now],
  })
}

async function putPersonCopy(
  tx: Queryable,
  { person_id, person_name }: NonNullable<AccountSnapshot['membership']>,
  person: AccountSnapshot['person'],
  now: Date,
): Promise<void> {
  await tx.query({
    name: 'copy-person',
    text: `
      insert into people (id, email, name, created_at, disabled_at, unlinked_at)
      values ($1::uuid, $1::text || '@far.invalid', $2, $3, $4, $5)
      on conflict (id) do update set disabled_at = excluded.disabled_at`,
    values: [person_id, person_name, now, person?.disabled_at ?? null, person?.unlinked_at ?? null],
  })
}

async function insertMembershipCopy(
  tx: Queryable,
  membership: NonNullable<AccountSnapshot['membership']>,
  organizationId: string,
  now: Date,
): Promise<void> {
  const { id, person_id, created_at } = membership
  await tx.query({
    name: 'end-older-copies',
    text: `
      update memberships set revoked_at = $5
      where organization_id = $1 and person_id = $2 and id <> $3 and revoked_at is null and created_at <= $4`,
    values: [organizationId, person_id, id, created_at, now],
  })
  await tx.query({
    name: 'copy-membership',
    text: `
      insert into memberships (id, organization_id, person_id, role, created_at, revoked_at)
      select $1, $2, $3, $4, $5, coalesce($6::timestamptz, (
        select $7::timestamptz from memberships where organization_id = $2 and person_id = $3 and revoked_at is null))
      on conflict (id) do nothing`,
    values: [id, organizationId, person_id, membership.role, created_at, membership.revoked_at, now],
  })
}

/** Puts the copy of a sign-in, which browsers, terminals, previews, views and push of this database name. */
export async function putSignInCopy(
  tx: Queryable,
  id: string,
  { organization, membership, sign_in: signIn }: AccountSnapshot,
  now: Date,
): Promise<void> {
  if (membership === null) return
  await tx.query({
    name: 'copy-sign-in',
    text: `
      insert into sign_ins (id, person_id, membership_id, organization_id, client_id, created_at, last_used_at, ended_at)
      values ($1, $2, $3, $4, 'far', $5, $5, $6)
      on conflict (id) do update set ended_at = coalesce(sign_ins.ended_at, excluded.ended_at)`,
    values: [id, membership.person_id, membership.id, organization.id, now, signIn?.ended_at ?? null],
  })
}

/** Returns the place up to which changes are applied. @param lock until the transaction ends */
export async function readFeedCursor(db: Queryable, lock: boolean): Promise<string> {
  const { rows } = await db.query<{ cursor: string }>({
    name: lock ? 'lock-feed-cursor' : 'read-feed-cursor',
    text: `select feed_position || '.' || feed_last_id as cursor from deployment ${lock ? 'for update' : ''}`,
  })
  if (rows[0] === undefined) throw new Error('deployment has no row')
  return rows[0].cursor
}

export async function writeFeedCursor(tx: Queryable, cursor: string): Promise<void> {
  const [position, id] = cursor.split('.')
  await tx.query({
    name: 'write-feed-cursor',
    text: 'update deployment set feed_position = $1::xid8, feed_last_id = $2',
    values: [position, id],
  })
}

/**
 * Brings copies up to date. Subjects that are not copied are passed over. An end is final: nothing brings an
 * installation, a membership or a sign-in back.
 * @returns the installations that this has ended
 */
export async function applyChanges(tx: Queryable, changes: readonly Change[]): Promise<readonly string[]> {
  const of = (kind: Change['kind']) =>
    JSON.stringify(changes.filter(change => change.kind === kind).map(({ row }) => row))
  await tx.query({
    name: 'apply-organization-changes',
    text: `
      update organizations o set name = c.name, suspended_at = c.suspended_at, cloud_access = c.cloud_access,
        rate_burst = c.rate_burst, rate_per_minute = c.rate_per_minute
      from jsonb_to_recordset($1) as c(id uuid, name text, suspended_at timestamptz, cloud_access boolean,
        rate_burst integer, rate_per_minute integer)
      where o.id = c.id`,
    values: [of('organization')],
  })
  await tx.query({
    name: 'apply-membership-changes',
    text: `
      update memberships m set revoked_at = c.revoked_at
      from jsonb_to_recordset($1) as c(id uuid, revoked_at timestamptz)
      where m.id = c.id and m.revoked_at is null and c.revoked_at is not null`,
    values: [of('membership')],
  })
  await tx.query({
    name: 'apply-person-changes',
    text: `
      update people p set disabled_at = c.disabled_at
      from jsonb_to_recordset($1) as c(id uuid, disabled_at timestamptz)
      where p.id = c.id`,
    values: [of('person')],
  })
  await tx.query({
    name: 'apply-sign-in-changes',
    text: `
      update sign_ins s set ended_at = c.ended_at
      from jsonb_to_recordset($1) as c(id uuid, ended_at timestamptz)
      where s.id = c.id and s.ended_at is null and c.ended_at is not null`,
    values: [of('sign_in')],
  })
  // A recovery is applied once: the copy keeps the time that the account service gave it. Whatever is linked here by then is
  // from before, since no clock of over there tells when that was. Sign-ins come first: their ends wait for links under way.
  await tx.query({
    name: 'unlink-host-people',
    text: `
      with recovered as (
        update people p set unlinked_at = c.unlinked_at
        from jsonb_to_recordset($1) as c(id uuid, unlinked_at timestamptz)
        where p.id = c.id and c.unlinked_at is not null and p.unlinked_at is distinct from c.unlinked_at
        returning p.id)
      delete from host_people where person_id in (select id from recovered)`,
    values: [of('person')],
  })
  const { rows } = await tx.query<{ id: string; revoked_at: Date | null }>({
    name: 'apply-installation-changes',
    text: `
      update installations i set revoked_at = c.revoked_at, capabilities = array(select jsonb_array_elements_text(c.capabilities))
      from jsonb_to_recordset($1) as c(id uuid, capabilities jsonb, revoked_at timestamptz)
      where i.id = c.id and i.kind = 'far' and i.revoked_at is null
      returning i.id, i.revoked_at`,
    values: [of('installation')],
  })
  return rows.flatMap(({ id, revoked_at }) => (revoked_at === null ? [] : [id]))
}
