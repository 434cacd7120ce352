import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { ConnectionRow, GrantRow } from './grant.ts'

/** The installation that holds the grants. */
export interface Grantee {
  readonly organizationId: string
  readonly installationId: string
}

export async function insertConnection(db: Queryable, row: ConnectionRow, now: Date): Promise<ConnectionRow> {
  const { rows } = await db.query<ConnectionRow>(
    `insert into host_connections
       (id, organization_id, installation_id, host, provider, account, account_login, whole, personal, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (installation_id, host, account) where revoked_at is null
       do update set account_login = excluded.account_login, whole = host_connections.whole or excluded.whole
     returning id, organization_id, installation_id, host, provider, account, account_login, whole, personal`,
    [
      row.id,
      row.organization_id,
      row.installation_id,
      row.host,
      row.provider,
      row.account,
      row.account_login,
      row.whole,
      row.personal,
      now,
    ],
  )
  const [kept] = rows
  if (kept === undefined) throw new Error('an upsert returned no row')
  return kept
}

/**
 * Ends a connection, and with it its grants.
 * @returns true if it was live
 */
export async function endConnection(db: Queryable, id: string, now: Date): Promise<boolean> {
  const text = 'update host_connections set revoked_at = $2 where id = $1 and revoked_at is null'
  return (await db.query(text, [id, now])).rowCount > 0
}

/** Says whether only people whose own account reaches a repository may use a connection. */
export async function setPersonal(db: Queryable, id: string, personal: boolean): Promise<void> {
  await db.query('update host_connections set personal = $2 where id = $1 and revoked_at is null', [id, personal])
}

/** Ends all connections of an installation, and with them its grants. */
export async function endConnectionsOf(db: Queryable, installationId: string, now: Date): Promise<void> {
  await db.query('update host_connections set revoked_at = $2 where installation_id = $1 and revoked_at is null', [
    installationId,
    now,
  ])
}

/** A connection with one of its grants, or with none. */
export interface AccountRow extends ConnectionRow {
  readonly ended: boolean
  readonly grant_id: string | null
  readonly repository_id: string
  readonly full_name: string
  readonly grant_ended: boolean
  readonly replaced: boolean
}

/** Only those of an organization or an installation, or the one with this id or a grant of this id; all by default. */
export interface AccountFilter {
  readonly organizationId?: string
  readonly installationId?: string
  readonly id?: string
}

/** Lists connections with their grants; it reads both tables whole unless one is named. */
export async function listAccountRows(
  db: Queryable,
  { organizationId, installationId, id }: AccountFilter,
): Promise<AccountRow[]> {
  const { rows } = await db.query<AccountRow>(
    `select c.id, c.organization_id, c.installation_id, c.host, c.provider, c.account, c.account_login, c.whole,
       c.personal,
       c.revoked_at is not null as ended, g.id as grant_id, g.repository_id, g.full_name,
       g.revoked_at is not null as grant_ended, g.replaced_by is not null as replaced
     from host_connections c left join repository_grants g on g.connection_id = c.id
     where ($1::uuid is null or c.installation_id = $1)
       and ($2::uuid is null or c.id = $2 or c.id = (select connection_id from repository_grants where id = $2))
       and ($3::uuid is null or c.organization_id = $3)
     order by c.created_at, c.id, g.full_name, g.created_at`,
    [installationId ?? null, id ?? null, organizationId ?? null],
  )
  return rows
}

/** Lists the connections of an installation from an id on, in the order of their ids, on `host_connections_live`. */
export async function listConnections(
  db: Queryable,
  { organizationId, installationId }: Grantee,
  from: string | null,
): Promise<ConnectionRow[]> {
  return await queryRows<ConnectionRow>(db, {
    name: 'list-connections',
    text: `
      select id, organization_id, installation_id, host, provider, account, account_login, whole, personal
      from host_connections
      where installation_id = $2 and organization_id = $1 and revoked_at is null and ($3::uuid is null or id >= $3)
      order by id`,
    values: [organizationId, installationId, from],
  })
}

/** Grants repositories of a connection, and updates the names of those that it grants already. */
export async function upsertGrants(
  db: Queryable,
  connection: ConnectionRow,
  repositories: readonly { readonly id: string; readonly repositoryId: string; readonly fullName: string }[],
  now: Date,
): Promise<void> {
  await db.query(
    `insert into repository_grants
       (id, connection_id, organization_id, installation_id, repository_id, full_name, created_at)
     select seen.id, $1, $2, $3, seen.repository_id, seen.full_name, $7
     from unnest($4::uuid[], $5::text[], $6::text[]) as seen (id, repository_id, full_name)
     order by seen.repository_id
     on conflict (connection_id, repository_id) where revoked_at is null and replaced_by is null
       do update set full_name = excluded.full_name where repository_grants.full_name <> excluded.full_name`,
    [
      connection.id,
      connection.organization_id,
      connection.installation_id,
      repositories.map(({ id }) => id),
      repositories.map(({ repositoryId }) => repositoryId),
      repositories.map(({ fullName }) => fullName),
      now,
    ],
  )
}

/** Returns those of the repositories that a connection grants, on `repository_grants_live`. */
export async function findGranted(
  db: Queryable,
  connectionId: string,
  repositoryIds: readonly string[],
): Promise<{ id: string; repository_id: string }[]> {
  return await queryRows<{ id: string; repository_id: string }>(db, {
    name: 'find-granted',
    text: `
      select id, repository_id from repository_grants
      where connection_id = $1 and repository_id = any($2) and revoked_at is null and replaced_by is null`,
    values: [connectionId, repositoryIds],
  })
}

const selectGrants = `
  select g.id, c.host, c.provider, c.account, c.account_login, c.personal, g.repository_id,
    g.full_name, g.created_at,
    coalesce(g.revoked_at, c.revoked_at, i.revoked_at, o.suspended_at,
      case when not (o.cloud_access and i.capabilities @> '{svc.cloud.access}') then now() end) as revoked_at, g.replaced_by
  from repository_grants g join host_connections c on c.id = g.connection_id
  join installations i on i.id = g.installation_id join organizations o on o.id = i.organization_id`

export async function listGrants(
  db: Queryable,
  { organizationId, installationId }: Grantee,
  before: { readonly updatedAt: Date; readonly id: string } | null,
  limit: number,
): Promise<GrantRow[]> {
  return await queryRows<GrantRow>(db, {
    name: 'list-grants',
    text: `${selectGrants}
      where g.installation_id = $2 and g.organization_id = $1
        and ($3::timestamptz is null or (g.created_at, g.id) < ($3, $4::uuid))
      order by g.created_at desc, g.id desc limit $5`,
    values: [organizationId, installationId, before?.updatedAt ?? null, before?.id ?? null, limit],
  })
}

export async function findGrant(
  db: Queryable,
  { organizationId, installationId }: Grantee,
  id: string,
): Promise<GrantRow | null> {
  return await queryRow<GrantRow>(db, {
    name: 'find-grant',
    text: `${selectGrants} where g.id = $3 and g.installation_id = $2 and g.organization_id = $1`,
    values: [organizationId, installationId, id],
  })
}

/** Returns the live grant of a repository through any of the installation's connections to the host. */
export async function findGrantOf(
  db: Queryable,
  { organizationId, installationId }: Grantee,
  repository: { readonly host: string; readonly repositoryId: string },
): Promise<GrantRow | null> {
  const { rows } = await db.query<GrantRow>(
    `${selectGrants}
      where g.installation_id = $2 and g.organization_id = $1 and c.host = $3 and g.repository_id = $4
        and g.revoked_at is null and g.replaced_by is null and c.revoked_at is null`,
    [organizationId, installationId, repository.host, repository.repositoryId],
  )
  return rows[0] ?? null
}

/**
 * Ends a grant.
 * @returns true if the grant was active
 */
export async function endGrant(
  db: Queryable,
  grantee: Grantee,
  id: string,
  end: { readonly revokedAt: Date } | { readonly replacedBy: string },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update repository_grants set revoked_at = $4, replaced_by = $5
     where id = $3 and installation_id = $2 and organization_id = $1 and revoked_at is null and replaced_by is null`,
    [
      grantee.organizationId,
      grantee.installationId,
      id,
      'revokedAt' in end ? end.revokedAt : null,
      'replacedBy' in end ? end.replacedBy : null,
    ],
  )
  return rowCount > 0
}
