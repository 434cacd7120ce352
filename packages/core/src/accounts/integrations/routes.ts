import { randomUUID } from 'node:crypto'
import type { ApiKey, Integration } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../../context.ts'
import type { AccountHandlers } from '../../http/routing/handler.ts'
import { appendAudit } from '../audit/append.ts'
import { personEntry } from '../audit/person-entry.ts'
import { revokeInstallation } from '../installations/revoke.ts'
import { requireOwn } from '../organizations/require-own.ts'
import {
  type ApiKeyRow,
  endApiKey,
  hasProduct,
  type IntegrationRow,
  insertIntegration,
  listActiveKeys,
  listIntegrations,
} from './integration-sql.ts'
import { issueKey } from './issue-key.ts'

type Operations =
  | 'createIntegration'
  | 'listIntegrations'
  | 'deleteIntegration'
  | 'createApiKey'
  | 'listApiKeys'
  | 'revokeApiKey'

/** The operations on integrations and their API keys. */
export function integrationHandlers({ db, clock }: Pick<Context, 'db' | 'clock'>): Pick<AccountHandlers, Operations> {
  return {
    createIntegration: async ({ principal, params, body: { name, product, capabilities }, clientAddress }) => {
      requireOwn(principal, params.organizationId)
      const { organizationId, membershipId } = principal
      const id = randomUUID()
      const now = clock.now()
      await db.transaction(async tx => {
        if (!(await hasProduct(tx, organizationId, product))) throw refusal('app_not_found')
        await insertIntegration(tx, { id, organizationId, product, name, capabilities, membershipId }, now)
        const audited = { target: `installation ${id}`, details: { product, capabilities } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'integration.created', audited), now)
      })
      const made = { id, name, app_slug: product, capabilities, created_at: now }
      return { status: 201, body: { success: true, integration: toIntegration(made, []) } }
    },

    listIntegrations: async ({ principal, params }) => {
      requireOwn(principal, params.organizationId)
      const keys = await listActiveKeys(db, principal.organizationId, null, clock.now())
      const integrations = (await listIntegrations(db, principal.organizationId)).map(row =>
        toIntegration(
          row,
          keys.filter(key => key.installation_id === row.id),
        ),
      )
      return { status: 200, body: { success: true, integrations } }
    },

    deleteIntegration: async ({ principal, params: { organizationId, integrationId }, clientAddress }) => {
      requireOwn(principal, organizationId)
      await db.transaction(async tx => {
        const ended = await revokeInstallation(tx, organizationId, integrationId, clock.now(), 'integration')
        if (ended === null) throw refusal('integration_not_found')
        const audited = { target: `installation ${integrationId}` }
        if (ended)
          await appendAudit(tx, personEntry(principal, clientAddress, 'integration.deleted', audited), clock.now())
      })
      return { status: 204 }
    },

    createApiKey: async ({ principal, params: { organizationId, integrationId }, body, clientAddress }) => {
      requireOwn(principal, organizationId)
      const { kind, expiresAt, replaces = null } = body
      const keyRequest = {
        organizationId,
        integrationId,
        membershipId: principal.membershipId,
        kind,
        expiresAt: expiresAt === undefined ? null : new Date(expiresAt),
        replaces,
      }
      const { key, secret } = await db.transaction(async tx => {
        const issued = await issueKey(tx, keyRequest, clock.now())
        const replaced = replaces === null ? {} : { replaces }
        const audited = {
          target: `api_key ${issued.key.id}`,
          details: { installation: integrationId, kind, ...replaced },
        }
        await appendAudit(tx, personEntry(principal, clientAddress, 'api_key.created', audited), clock.now())
        return issued
      })
      return { status: 201, body: { success: true, key: toApiKey(key), secret } }
    },

    listApiKeys: async ({ principal, params: { organizationId, integrationId } }) => {
      requireOwn(principal, organizationId)
      await requireIntegration(db, organizationId, integrationId)
      const keys = (await listActiveKeys(db, organizationId, integrationId, clock.now())).map(toApiKey)
      return { status: 200, body: { success: true, keys } }
    },

    revokeApiKey: async ({ principal, params: { organizationId, integrationId, keyId }, clientAddress }) => {
      requireOwn(principal, organizationId)
      await db.transaction(async tx => {
        await requireIntegration(tx, organizationId, integrationId)
        if (!(await endApiKey(tx, integrationId, keyId, clock.now()))) throw refusal('api_key_not_found')
        const audited = { target: `api_key ${keyId}`, details: { installation: integrationId } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'api_key.revoked', audited), clock.now())
      })
      return { status: 204 }
    },
  }
}

/** @throws ApiError 404 `integration_not_found` */
async function requireIntegration(db: Queryable, organizationId: string, id: string): Promise<void> {
  const integrations = await listIntegrations(db, organizationId)
  if (!integrations.some(integration => integration.id === id)) throw refusal('integration_not_found')
}

const toIntegration = (row: IntegrationRow, keys: readonly ApiKeyRow[]): Integration => ({
  id: row.id,
  installationId: row.id,
  name: row.name ?? '',
  product: row.app_slug,
  capabilities: row.capabilities,
  createdAt: row.created_at.toISOString(),
  keys: keys.map(toApiKey),
})

const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  kind: row.kind,
  ...(row.hint !== null && { hint: row.hint }),
  createdAt: row.created_at.toISOString(),
  ...(row.expires_at !== null && { expiresAt: row.expires_at.toISOString() }),
  ...(row.last_used_at !== null && { lastUsedAt: row.last_used_at.toISOString() }),
})
