import type { WebhookEndpoint } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { appendAudit } from '../accounts/audit/append.ts'
import { personEntry } from '../accounts/audit/person-entry.ts'
import type { Context } from '../context.ts'
import type { AccountHandlers } from '../http/routing/handler.ts'
import type { PersonPrincipal } from '../identity/guard/principal.ts'
import {
  type AppInstallation,
  deleteEndpoint,
  type EndpointRow,
  findAppInstallation,
  listEndpoints,
} from './endpoint-sql.ts'
import { judgeEndpoint, registerEndpoint } from './register-endpoint.ts'
import type { WebhookRules } from './webhook-url.ts'

/** The parts that webhooks need beside the shared ones. */
export interface WebhookParts {
  readonly masterKey: MasterKey
  readonly rules: WebhookRules
  readonly network: Network
}

/** The operations on webhook endpoints. */
export function webhookHandlers(
  { db, clock, wakeups }: Pick<Context, 'db' | 'clock' | 'wakeups'>,
  { masterKey, rules, network }: WebhookParts,
): Pick<AccountHandlers, 'registerWebhook' | 'listWebhooks' | 'deleteWebhook'> {
  return {
    registerWebhook: async ({ principal, params, body, clientAddress }) => {
      await judgeEndpoint(body, rules, network)
      const made = await db.transaction(async tx => {
        const registered = await registerEndpoint(tx, masterKey, installationOf(principal, params), body, clock.now())
        const { id, families } = registered.endpoint
        const note = { target: `webhook endpoint ${id}`, details: { installationId: params.installationId, families } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'webhook.registered', note), clock.now())
        return registered
      })
      wakeups.publish(topics.webhooks)
      return { status: 201, body: { success: true, endpoint: toEndpoint(made.endpoint), secret: made.secret } }
    },

    listWebhooks: async ({ principal, params }) => {
      const of = installationOf(principal, params)
      if ((await findAppInstallation(db, of)) === null) throw refusal('installation_not_found')
      const endpoints = (await listEndpoints(db, of.installationId)).map(toEndpoint)
      return { status: 200, body: { success: true, endpoints } }
    },

    deleteWebhook: async ({ principal, params, clientAddress }) => {
      const of = installationOf(principal, params)
      const { endpointId } = params
      await db.transaction(async tx => {
        if ((await findAppInstallation(tx, of)) === null) throw refusal('installation_not_found')
        if (!(await deleteEndpoint(tx, of.installationId, endpointId))) return
        const audited = { target: `webhook endpoint ${endpointId}`, details: { installationId: of.installationId } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'webhook.deleted', audited), clock.now())
      })
      return { status: 204 }
    },
  }
}

const installationOf = (
  { organizationId }: PersonPrincipal,
  { appSlug, installationId }: Omit<AppInstallation, 'publisherId'>,
): AppInstallation => ({ publisherId: organizationId, appSlug, installationId })

function toEndpoint(row: EndpointRow): WebhookEndpoint {
  const { last_failure_at: failedAt, last_failure_status: status, last_failure_error: error } = row
  return {
    id: row.id,
    url: row.url,
    families: row.families,
    createdAt: row.created_at.toISOString(),
    ...(row.last_success_at !== null && { lastSuccessAt: row.last_success_at.toISOString() }),
    ...(failedAt !== null && {
      lastFailure: {
        at: failedAt.toISOString(),
        ...(status !== null && { status }),
        ...(error !== null && { error }),
      },
    }),
  }
}
