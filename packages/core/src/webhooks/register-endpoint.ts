import { randomUUID } from 'node:crypto'
import { eventFamilies, webhookLimits } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { makeSecret, sealSecret } from './endpoint-secret.ts'
import {
  type AppInstallation,
  type EndpointRow,
  findAppInstallation,
  insertEndpoint,
  listEndpoints,
} from './endpoint-sql.ts'
import { findAddresses } from './webhook-addresses.ts'
import { readWebhookUrl, type WebhookRules } from './webhook-url.ts'

/** Longest wait for DNS at a registration. */
const RESOLVE_MS = 5_000

/** A request for an endpoint. */
export interface EndpointRequest {
  readonly url: string
  readonly families: readonly string[]
}

/**
 * Judges what an endpoint asks for, before its installation is looked for.
 * @throws ApiError 400 `invalid_url` or `invalid_event_families`
 */
export async function judgeEndpoint(
  { url, families }: EndpointRequest,
  rules: WebhookRules,
  network: Network,
): Promise<void> {
  const read = readWebhookUrl(url, rules)
  if (read === null) throw refusal('invalid_url')
  await findAddresses(read, rules, network, AbortSignal.timeout(RESOLVE_MS)).catch(cause => {
    throw new ApiError(400, 'invalid_url', { cause })
  })
  const known: readonly string[] = eventFamilies
  const repeated = new Set(families).size < families.length
  if (families.length === 0 || repeated || !families.every(family => known.includes(family))) {
    throw refusal('invalid_event_families')
  }
}

/**
 * Adds an endpoint to an installation, whose row is locked: of two registrations at the same moment one may be the
 * sixth.
 * @returns the endpoint and its secret, which is stored only sealed
 * @throws ApiError 404 `installation_not_found` or 409 `endpoint_limit_reached`
 */
export async function registerEndpoint(
  tx: Queryable,
  masterKey: MasterKey,
  of: AppInstallation,
  { url, families }: EndpointRequest,
  now: Date,
): Promise<{ readonly endpoint: EndpointRow; readonly secret: string }> {
  const { installationId } = of
  if ((await findAppInstallation(tx, of, { lock: true })) === null) throw refusal('installation_not_found')
  const others = await listEndpoints(tx, installationId)
  if (others.length >= webhookLimits.endpointsPerInstallation) throw refusal('endpoint_limit_reached')
  const id = randomUUID()
  const secret = makeSecret()
  const sealedSecret = sealSecret(masterKey, id, secret)
  return { endpoint: await insertEndpoint(tx, { id, installationId, url, families, sealedSecret }, now), secret }
}
