import type { WebhookError } from '@berth/contract'
import {
  type Queryable,
  queryChanged,
  queryOne,
  queryRow,
  queryRows,
} from '@berth/platform/storage/postgres/database.ts'
import { isAddressable } from '../accounts/installations/own-installation.ts'

export interface EndpointRow {
  readonly id: string
  readonly url: string
  readonly families: string[]
  readonly created_at: Date
  readonly last_success_at: Date | null
  readonly last_failure_at: Date | null
  readonly last_failure_status: number | null
  readonly last_failure_error: WebhookError | null
}

const columns = `id, url, families, created_at, last_success_at, last_failure_at, last_failure_status,
  last_failure_error`

/** An installation of an app, in any organization, and the app's own organization. */
export interface AppInstallation {
  /** The organization of the caller, which must own the app. */
  readonly publisherId: string
  readonly appSlug: string
  readonly installationId: string
}

/**
 * Returns the organization of a live installation; null if the app has no such one, or is not the publisher's.
 * @param lock holds other registrations for the installation off until the transaction ends
 */
export async function findAppInstallation(
  db: Queryable,
  { publisherId, appSlug, installationId }: AppInstallation,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<{ readonly organization_id: string } | null> {
  return await queryRow<{ organization_id: string }>(db, {
    text: `
      select i.organization_id from installations i join apps a on a.slug = i.app_slug
      where i.id = $3 and a.slug = $2 and a.organization_id = $1 and a.deleted_at is null and not a.reserved
        and i.revoked_at is null and ${isAddressable('i')}
      ${lock ? 'for no key update of i' : ''}`,
    values: [publisherId, appSlug, installationId],
  })
}

/** Lists the endpoints of an installation in the order of their registration. */
export async function listEndpoints(db: Queryable, installationId: string): Promise<readonly EndpointRow[]> {
  return await queryRows<EndpointRow>(db, {
    name: 'list-webhook-endpoints',
    text: `select ${columns} from webhook_endpoints where installation_id = $1 order by created_at, id`,
    values: [installationId],
  })
}

export async function insertEndpoint(
  tx: Queryable,
  endpoint: {
    readonly id: string
    readonly installationId: string
    readonly url: string
    readonly families: readonly string[]
    readonly sealedSecret: Buffer
  },
  now: Date,
): Promise<EndpointRow> {
  const { id, installationId, url, families, sealedSecret } = endpoint
  return await queryOne<EndpointRow>(tx, {
    text: `
      insert into webhook_endpoints (id, installation_id, url, families, sealed_secret, created_at)
      values ($1, $2, $3, $4, $5, $6) returning ${columns}`,
    values: [id, installationId, url, families, sealedSecret, now],
  })
}

/** Deletes an endpoint of an installation. @returns false if it has no such one */
export async function deleteEndpoint(tx: Queryable, installationId: string, id: string): Promise<boolean> {
  return await queryChanged(tx, {
    text: 'delete from webhook_endpoints where id = $2 and installation_id = $1',
    values: [installationId, id],
  })
}
