import { randomUUID } from 'node:crypto'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { lockInstallation } from '../installations/installation-sql.ts'
import { makeApiKey } from './api-key.ts'
import { type ApiKeyRow, endApiKey, insertApiKey, listActiveKeys } from './integration-sql.ts'

const ACTIVE_OF_A_KIND = 2

/**
 * Issues an API key of an integration, whose row is locked: of two keys at the same moment one may be the third. The key
 * that it replaces ends in the same transaction, so no moment has neither or one too many.
 * @returns the key and its secret, which is stored nowhere
 * @throws ApiError 400, 404 or 409
 */
export async function issueKey(
  tx: Queryable,
  request: {
    readonly organizationId: string
    readonly membershipId: string
    readonly integrationId: string
    readonly kind: 'cloud' | 'ai'
    readonly expiresAt: Date | null
    readonly replaces: string | null
  },
  now: Date,
): Promise<{ readonly key: ApiKeyRow; readonly secret: string }> {
  const { organizationId, integrationId, kind, expiresAt, replaces, membershipId } = request
  const integration = await lockInstallation(tx, organizationId, integrationId, 'integration')
  if (integration === null || integration.revoked_at !== null) throw refusal('integration_not_found')
  if (kind === 'ai' && !integration.capabilities.includes('svc.ai.invoke'))
    throw invalidField(['kind'], 'an ai key needs svc.ai.invoke in the grant of the integration')
  if (expiresAt !== null && expiresAt <= now) throw invalidField(['expiresAt'], 'must lie in the future')
  const active = await listActiveKeys(tx, organizationId, integrationId, now)
  if (replaces !== null) {
    const replaced = active.find(({ id }) => id === replaces)
    if (replaced === undefined) throw refusal('api_key_not_found')
    if (replaced.kind !== kind) throw invalidField(['replaces'], 'must be a key of the same kind')
    await endApiKey(tx, integrationId, replaces, now)
  }
  const others = active.filter(key => key.kind === kind && key.id !== replaces)
  if (others.length >= ACTIVE_OF_A_KIND) throw refusal('api_key_limit_reached')
  const { secret, hint } = makeApiKey(kind)
  const made = { id: randomUUID(), installationId: integrationId, digest: credentialDigest(secret), hint }
  return { key: await insertApiKey(tx, { ...made, kind, expiresAt, membershipId }, now), secret }
}
