import { randomBytes, randomUUID, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { capabilities, permissions } from '@berth/contract'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'

const DEVELOPMENT_APP = 'development'

/** The data for a first call; written once to `dev.json`. */
export interface DevelopmentTenant {
  readonly organizationId: string
  readonly installationId: string
  readonly appSlug: string
  readonly apiKey: string
  readonly aiKey: string
  readonly user: { readonly email: string; readonly password: string }
}

/**
 * Makes an organization with an app, an installation with every capability, its keys and a person, if the database has
 * no organization.
 *
 * @param keep stores the secrets before the transaction commits; the database holds only their digests
 * @returns null if the database is not empty; the secrets of an existing tenant cannot be read again
 */
export async function createDevelopmentTenant(
  db: Database,
  now: Date,
  keep: (tenant: DevelopmentTenant) => Promise<void>,
): Promise<DevelopmentTenant | null> {
  const tenant: DevelopmentTenant = {
    organizationId: randomUUID(),
    installationId: randomUUID(),
    appSlug: DEVELOPMENT_APP,
    apiKey: `svc_cloud_live_${randomBytes(32).toString('base64url')}`,
    aiKey: `svc_ai_live_${randomBytes(32).toString('base64url')}`,
    user: { email: 'developer@localhost', password: randomBytes(18).toString('base64url') },
  }
  const passwordHash = await hashPassword(tenant.user.password)
  return db.transaction(async tx => {
    // If two services start on one database, the second waits here and then finds the organization.
    await tx.query('lock table organizations in exclusive mode')
    const { rows } = await tx.query('select 1 from organizations limit 1')
    if (rows.length > 0) return null
    await insertTenant(tx, tenant, passwordHash, now)
    await keep(tenant)
    return tenant
  })
}

/** Returns the installation of the development tenant; null if this database has none. */
export async function findDevelopmentInstallation(
  db: Queryable,
): Promise<{ organizationId: string; installationId: string } | null> {
  const { rows } = await db.query<{ organization_id: string; id: string }>(
    'select organization_id, id from installations where app_slug = $1 and revoked_at is null',
    [DEVELOPMENT_APP],
  )
  const [found] = rows
  return found === undefined ? null : { organizationId: found.organization_id, installationId: found.id }
}

export async function hasInstallation(db: Queryable, id: string | null): Promise<boolean> {
  const { rows } = await db.query('select 1 from installations where id::text = $1', [id])
  return rows.length > 0
}

async function insertTenant(tx: Queryable, tenant: DevelopmentTenant, passwordHash: string, now: Date): Promise<void> {
  const personId = randomUUID()
  await tx.query('insert into organizations (id, name, created_at) values ($1, $2, $3)', [
    tenant.organizationId,
    'Development',
    now,
  ])
  await tx.query(
    "insert into apps (slug, organization_id, name, created_at, redirect_urls) values ($1, $2, $3, $4, '{http://127.0.0.1/installed}')",
    [tenant.appSlug, tenant.organizationId, 'Development', now],
  )
  await tx.query(
    `insert into installations (id, organization_id, app_slug, capabilities, created_at, kind, name)
     values ($1, $2, $3, $4, $5, 'integration', 'Development')`,
    [tenant.installationId, tenant.organizationId, tenant.appSlug, capabilities, now],
  )
  for (const [kind, key] of [
    ['cloud', tenant.apiKey],
    ['ai', tenant.aiKey],
  ] as const) {
    await tx.query('insert into api_keys (id, installation_id, kind, digest, created_at) values ($1, $2, $3, $4, $5)', [
      randomUUID(),
      tenant.installationId,
      kind,
      credentialDigest(key),
      now,
    ])
  }
  await tx.query('insert into people (id, email, name, password_hash, created_at) values ($1, $2, $3, $4, $5)', [
    personId,
    tenant.user.email,
    'Developer',
    passwordHash,
    now,
  ])
  await tx.query(
    "insert into memberships (id, organization_id, person_id, role, permissions, created_at) values ($1, $2, $3, 'admin', $4, $5)",
    [randomUUID(), tenant.organizationId, personId, permissions, now],
  )
}

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

/** Returns `scrypt$N$r$p$salt$hash`. The costs are part of it so that they can be raised later. */
async function hashPassword(password: string): Promise<string> {
  const cost = { N: 2 ** 16, r: 8, p: 1, maxmem: 128 * 1024 * 1024 }
  const salt = randomBytes(16)
  const hash = await derive(password, salt, 32, cost)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}
