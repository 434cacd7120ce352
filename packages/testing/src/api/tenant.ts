import { randomBytes, randomUUID } from 'node:crypto'
import { type Capability, capabilities } from '@berth/contract'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'

export interface Tenant {
  readonly organizationId: string
  readonly appSlug: string
  readonly installationId: string
  readonly apiKey: string
}

/**
 * Names of organizations, in their order: pictures are made of these pages. A worker goes through them again; no file makes as
 * many organizations.
 */
const names = [
  ...['Harbour Works', 'Juniper Maps', 'Copperfield', 'Lantern Post', 'Nordlicht', 'Quarry Lane', 'Tidal Labs'],
  ...['Alder and Ash', 'Bright Cellar', 'Cinder Press', 'Dune Radio', 'Ember Foods', 'Fieldnotes', 'Granite Bank'],
  ...['Halyard', 'Inkwell', 'Jetty Coffee', 'Kestrel Air', 'Lowland Rail', 'Meridian'],
]
let made = 0

/** Makes an organization with one installation and one API key. */
export async function createTenant(db: Database, held: readonly Capability[] = capabilities): Promise<Tenant> {
  const organizationId = randomUUID()
  const slug = `app-${organizationId.slice(0, 8)}`
  const name = names[made % names.length] ?? slug
  made += 1
  const now = new Date()
  await db.query('insert into organizations (id, name, created_at) values ($1, $2, $3)', [organizationId, name, now])
  await db.query('insert into apps (slug, organization_id, name, created_at) values ($1, $2, $1, $3)', [
    slug,
    organizationId,
    now,
  ])
  return { organizationId, appSlug: slug, ...(await createInstallation(db, organizationId, slug, held)) }
}

/** Makes another installation of an organization, with its own key. */
export async function createInstallation(
  db: Database,
  organizationId: string,
  appSlug: string,
  held: readonly Capability[] = capabilities,
): Promise<{ installationId: string; apiKey: string }> {
  const installationId = randomUUID()
  const apiKey = `svc_cloud_live_${randomBytes(32).toString('base64url')}`
  const now = new Date()
  await db.query(
    `insert into installations (id, organization_id, app_slug, capabilities, created_at, kind, name)
     values ($1, $2, $3, $4, $5, 'integration', 'Test')`,
    [installationId, organizationId, appSlug, held, now],
  )
  await db.query(
    "insert into api_keys (id, installation_id, kind, digest, created_at) values ($1, $2, 'cloud', $3, $4)",
    [randomUUID(), installationId, credentialDigest(apiKey), now],
  )
  return { installationId, apiKey }
}
