import { appendAudit } from '../accounts/audit/append.ts'
import { personEntry } from '../accounts/audit/person-entry.ts'
import { requireOwn } from '../accounts/organizations/require-own.ts'
import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import type { PersonPrincipal } from '../identity/guard/principal.ts'
import { refusal } from '../kit/refusal.ts'
import type { Queryable } from '../storage/postgres/database.ts'
import { listDeliveries } from './delivery-sql.ts'
import { replaceTriggerSecret } from './hook-secret.ts'
import { putTrigger } from './put-trigger.ts'
import { hasInstallation, standingOf } from './standing-sql.ts'
import { hookUrlOf, toReportedDelivery, toTrigger } from './trigger.ts'
import { deleteTrigger, findTrigger, listOrganizationTriggers, type OwnedTriggerKey } from './trigger-sql.ts'

type Operations =
  | 'listOrganizationTriggers'
  | 'putInstallationTrigger'
  | 'deleteInstallationTrigger'
  | 'listInstallationTriggerDeliveries'
  | 'replaceInstallationTriggerSecret'

interface TriggerPath {
  readonly installationId: string
  readonly triggerId: string
}

/** Serves triggers to people who manage integrations. Their changes are in the audit log. */
export function organizationTriggerHandlers(
  context: Context,
  { baseUrl }: { readonly baseUrl: () => string },
): Pick<Handlers, Operations> {
  const { db, clock } = context
  return {
    listOrganizationTriggers: async ({ principal, params: { organizationId } }) => {
      requireOwn(principal, organizationId)
      const rows = await listOrganizationTriggers(db, organizationId)
      const triggers = rows.map(row => ({ installationId: row.installation_id, trigger: toTrigger(row, baseUrl()) }))
      return { status: 200, body: { triggers } }
    },

    putInstallationTrigger: async ({ principal, params, body, clientAddress }) => {
      const key = await requireInstallation(principal, params)
      const standing = await standingOf(db, key)
      if (standing === null) throw refusal('insufficient_scope', { requiredScope: 'svc.cloud.sessions:create' })
      const told = audited(principal, clientAddress, key)
      const { row, created } = await putTrigger(context, standing, key, body, told('trigger.written'))
      return { status: created ? 201 : 200, body: { trigger: toTrigger(row, baseUrl()) } }
    },

    deleteInstallationTrigger: async ({ principal, params, clientAddress }) => {
      const key = await requireInstallation(principal, params)
      await db.transaction(async tx => {
        if (await deleteTrigger(tx, key)) await audited(principal, clientAddress, key)('trigger.deleted')(tx)
      })
      return { status: 204 }
    },

    listInstallationTriggerDeliveries: async ({ principal, params, query }) => {
      const key = await requireInstallation(principal, params)
      if ((await findTrigger(db, key)) === null) throw refusal('trigger_not_found')
      const rows = await listDeliveries(db, key, query.limit)
      return { status: 200, body: { deliveries: rows.map(toReportedDelivery) } }
    },

    replaceInstallationTriggerSecret: async ({ principal, params, body, clientAddress }) => {
      const key = await requireInstallation(principal, params)
      const told = audited(principal, clientAddress, key)('trigger.secret_replaced')
      const { secret, row } = await replaceTriggerSecret(db, key, body, clock.now(), told)
      const until = row.previous_until?.toISOString()
      const url = hookUrlOf(row, baseUrl())
      return { status: 201, body: { secret, url, ...(until !== undefined && { previousSecretUntil: until }) } }
    },
  }

  /** @throws ApiError 404 `installation_not_found` */
  async function requireInstallation(
    { organizationId }: PersonPrincipal,
    { installationId, triggerId }: TriggerPath,
  ): Promise<OwnedTriggerKey> {
    if (!(await hasInstallation(db, { organizationId, installationId }))) throw refusal('installation_not_found')
    return { organizationId, installationId, triggerId }
  }

  function audited(principal: PersonPrincipal, clientAddress: string, { installationId, triggerId }: TriggerPath) {
    const told = { target: `trigger ${triggerId}`, details: { installationId } }
    return (action: string) => (tx: Queryable) =>
      appendAudit(tx, personEntry(principal, clientAddress, action, told), clock.now())
  }
}
