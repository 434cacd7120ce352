import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** An intent; its id is a secret, and rows hold only the digest. */
export interface IntentRow {
  readonly app_slug: string
  readonly status: 'pending' | 'authorized' | 'expired'
  readonly expires_at: Date
  readonly installation_id: string | null
  readonly setup_authority_id: string | null
}

/** Locks an app until the transaction ends. @returns its redirect URLs; null if it was deleted */
export async function lockRedirectUrls(tx: Queryable, slug: string): Promise<readonly string[] | null> {
  const { rows } = await tx.query<{ redirect_urls: string[] }>({
    name: 'lock-redirect-urls',
    text: 'select redirect_urls from apps where slug = $1 and deleted_at is null for update',
    values: [slug],
  })
  return rows[0]?.redirect_urls ?? null
}

/** Forgets an app's intents that ended before `before`. */
export async function forgetIntents(tx: Queryable, slug: string, before: Date): Promise<void> {
  await tx.query({
    name: 'forget-intents',
    text: 'delete from installation_intents where app_slug = $1 and expires_at < $2',
    values: [slug, before],
  })
}

/** Counts an app's intents that wait for a person. */
export async function countPending(
  tx: Queryable,
  slug: string,
  now: Date,
): Promise<{ readonly count: number; readonly firstEndsAt: Date | null }> {
  const { rows } = await tx.query<{ count: number; first: Date | null }>({
    name: 'count-pending-intents',
    text: `
      select count(*) as count, min(expires_at) as first from installation_intents
      where app_slug = $1 and status = 'pending' and expires_at > $2`,
    values: [slug, now],
  })
  return { count: rows[0]?.count ?? 0, firstEndsAt: rows[0]?.first ?? null }
}

export async function insertIntent(
  tx: Queryable,
  intent: {
    readonly digest: Buffer
    readonly slug: string
    readonly capabilities: readonly string[]
    readonly redirectUrl: string | null
    readonly state: string | null
    readonly expiresAt: Date
  },
  now: Date,
): Promise<void> {
  await tx.query({
    name: 'insert-intent',
    text: `
      insert into installation_intents (digest, app_slug, capabilities, redirect_url, state, created_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7)`,
    values: [intent.digest, intent.slug, intent.capabilities, intent.redirectUrl, intent.state, now, intent.expiresAt],
  })
}

/** Reads an intent of an app. It is expired as soon as the installation that it led to is revoked. */
export async function findIntent(db: Queryable, digest: Buffer, slug: string, now: Date): Promise<IntentRow | null> {
  return await queryRow<IntentRow>(db, {
    name: 'find-intent',
    text: `
      select n.app_slug, n.expires_at, s.installation_id, n.setup_authority_id,
        case when n.expires_at <= $3 or i.revoked_at is not null or o.suspended_at is not null then 'expired'
          else n.status end as status
      from installation_intents n
      left join setup_authorities s on s.id = n.setup_authority_id
      left join installations i on i.id = s.installation_id
      left join organizations o on o.id = i.organization_id
      where n.digest = $1 and n.app_slug = $2`,
    values: [digest, slug, now],
  })
}

/** An intent that a person is to decide. */
export interface PendingIntent {
  readonly appSlug: string
  readonly capabilities: readonly string[]
  readonly redirectUrl: string | null
  readonly state: string | null
}

/** Locks an intent that waits for a decision. @returns null if it does not, or its app cannot be installed any more */
export async function lockPending(tx: Queryable, digest: Buffer, now: Date): Promise<PendingIntent | null> {
  const { rows } = await tx.query<{
    app_slug: string
    capabilities: string[]
    redirect_url: string | null
    state: string | null
  }>({
    name: 'lock-pending-intent',
    text: `
      select n.app_slug, n.capabilities, n.redirect_url, n.state
      from installation_intents n
      join apps a on a.slug = n.app_slug join organizations o on o.id = a.organization_id
      where n.digest = $1 and n.status = 'pending' and n.expires_at > $2
        and a.deleted_at is null and o.suspended_at is null
      for update of n`,
    values: [digest, now],
  })
  const [row] = rows
  if (row === undefined) return null
  const { app_slug: appSlug, capabilities, redirect_url: redirectUrl, state } = row
  return { appSlug, capabilities, redirectUrl, state }
}

/** An intent that a member has authorized, and the installation that it led to. */
export interface AuthorizedIntent extends Pick<PendingIntent, 'redirectUrl' | 'state'> {
  readonly installationId: string
}

/** Reads an intent as the member who authorized it does. @returns null to everybody else, and once it is over */
export async function findAuthorized(
  db: Queryable,
  digest: Buffer,
  membershipId: string,
  now: Date,
): Promise<AuthorizedIntent | null> {
  const row = await queryRow<{ redirect_url: string | null; state: string | null; installation_id: string }>(db, {
    name: 'find-authorized-intent',
    text: `
      select n.redirect_url, n.state, s.installation_id
      from installation_intents n
      join setup_authorities s on s.id = n.setup_authority_id
      join installations i on i.id = s.installation_id join organizations o on o.id = i.organization_id
      where n.digest = $1 and n.expires_at > $2 and n.status = 'authorized' and s.membership_id = $3
        and i.revoked_at is null and o.suspended_at is null`,
    values: [digest, now, membershipId],
  })
  if (row === null) return null
  return { redirectUrl: row.redirect_url, state: row.state, installationId: row.installation_id }
}

/** What a person sees of an intent before they decide it. */
export interface IntentToShow {
  readonly slug: string
  readonly name: string
  /** Name of the organization that publishes the app. */
  readonly publisher: string
  readonly capabilities: readonly string[]
  /** Where the person goes after the decision. */
  readonly redirect_url: string | null
}

/** Reads an intent that waits for a decision. @returns null as `lockPending` does */
export async function findIntentToShow(db: Queryable, digest: Buffer, now: Date): Promise<IntentToShow | null> {
  return await queryRow<IntentToShow>(db, {
    name: 'find-intent-to-show',
    text: `
      select a.slug, a.name, o.name as publisher, n.capabilities, n.redirect_url
      from installation_intents n
      join apps a on a.slug = n.app_slug join organizations o on o.id = a.organization_id
      where n.digest = $1 and n.status = 'pending' and n.expires_at > $2
        and a.deleted_at is null and o.suspended_at is null`,
    values: [digest, now],
  })
}

/** Ends an intent that was denied. */
export async function expireIntent(tx: Queryable, digest: Buffer, now: Date): Promise<void> {
  await tx.query({
    name: 'expire-intent',
    text: "update installation_intents set status = 'expired', expires_at = $2 where digest = $1",
    values: [digest, now],
  })
}

export async function authorizeIntent(
  tx: Queryable,
  digest: Buffer,
  setupAuthorityId: string,
  expiresAt: Date,
): Promise<void> {
  await tx.query({
    name: 'authorize-intent',
    text: `
      update installation_intents set status = 'authorized', setup_authority_id = $2, expires_at = $3
      where digest = $1`,
    values: [digest, setupAuthorityId, expiresAt],
  })
}
