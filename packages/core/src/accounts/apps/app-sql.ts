import type { App } from '@berth/contract'
import { type Queryable, queryAny, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'

interface AppRow {
  readonly slug: string
  readonly name: string
  readonly redirect_urls: string[]
  readonly created_at: Date
}

export const toApp = (row: AppRow): App => ({
  slug: row.slug,
  name: row.name,
  redirectUrls: row.redirect_urls,
  createdAt: row.created_at.toISOString(),
})

/** Makes an app. @returns null if the slug is, or was, another app's */
export async function insertApp(
  db: Queryable,
  app: {
    readonly slug: string
    readonly organizationId: string
    readonly name: string
    readonly redirectUrls: readonly string[]
  },
  now: Date,
): Promise<AppRow | null> {
  return await queryRow<AppRow>(db, {
    name: 'insert-app',
    text: `
      insert into apps (slug, organization_id, name, redirect_urls, created_at) values ($1, $2, $3, $4, $5)
      on conflict (slug) do nothing returning slug, name, redirect_urls, created_at`,
    values: [app.slug, app.organizationId, app.name, app.redirectUrls, now],
  })
}

/** Lists an organization's apps by slug. */
export async function listApps(db: Queryable, organizationId: string): Promise<readonly AppRow[]> {
  return await queryRows<AppRow>(db, {
    name: 'list-apps',
    text: `
      select slug, name, redirect_urls, created_at from apps
      where organization_id = $1 and deleted_at is null and not reserved order by slug`,
    values: [organizationId],
  })
}

/** Changes an app. @returns null if the organization has no such app */
export async function updateApp(
  tx: Queryable,
  organizationId: string,
  slug: string,
  set: { readonly name: string | undefined; readonly redirectUrls: readonly string[] | undefined },
): Promise<AppRow | null> {
  return await queryRow<AppRow>(tx, {
    name: 'update-app',
    text: `
      update apps set name = coalesce($3, name), redirect_urls = coalesce($4, redirect_urls)
      where slug = $1 and organization_id = $2 and deleted_at is null and not reserved
      returning slug, name, redirect_urls, created_at`,
    values: [slug, organizationId, set.name ?? null, set.redirectUrls ?? null],
  })
}

/** Marks an app as deleted, and its open intents as expired. */
export async function markAppDeleted(tx: Queryable, slug: string, now: Date): Promise<void> {
  await tx.query({ text: 'update apps set deleted_at = $2 where slug = $1', values: [slug, now] })
  await tx.query({
    text: "update installation_intents set status = 'expired' where app_slug = $1 and status = 'pending'",
    values: [slug],
  })
}

/** Lists the live installations of an app in every organization. */
export async function listInstallationsOf(
  tx: Queryable,
  slug: string,
): Promise<readonly { readonly id: string; readonly organization_id: string }[]> {
  return await queryRows<{ id: string; organization_id: string }>(tx, {
    text: 'select id, organization_id from installations where app_slug = $1 and revoked_at is null order by id for update',
    values: [slug],
  })
}

/**
 * Looks for an app among an organization's own.
 * @param lock holds other changes of the app's keys off until the transaction ends
 */
export async function hasApp(
  db: Queryable,
  organizationId: string,
  slug: string,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<boolean> {
  return await queryAny(db, {
    text: `
      select 1 from apps where slug = $1 and organization_id = $2 and deleted_at is null and not reserved
      ${lock ? 'for update' : ''}`,
    values: [slug, organizationId],
  })
}
