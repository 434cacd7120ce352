import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import type { Context } from '@berth/core/context.ts'
import type { InstallationPrincipal, Principal } from '@berth/core/identity/guard/principal.ts'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { hasInstallation, readPrincipal } from './installation-sql.ts'
import {
  findTrigger,
  listOrganizationTriggers,
  listTriggers,
  type OwnedTriggerKey,
  type TriggerRow,
} from './trigger-sql.ts'

/** Lists the triggers that a caller manages: an installation its own, a person those of the organization. */
export const listManaged = ({ db }: Pick<Context, 'db'>, { kind, id, organizationId }: Principal) =>
  kind === 'person'
    ? listOrganizationTriggers(db, organizationId)
    : listTriggers(db, { organizationId, installationId: id })

/** Returns a trigger that the caller manages; null if there is none. */
export async function findManaged(
  { db }: Pick<Context, 'db'>,
  { kind, id, organizationId }: Principal,
  triggerId: string,
): Promise<TriggerRow | null> {
  if (kind === 'app_installation') return findTrigger(db, { organizationId, installationId: id, triggerId })
  const [row] = await listOrganizationTriggers(db, organizationId, triggerId)
  return row ?? null
}

export const keyOf = (row: TriggerRow): OwnedTriggerKey => ({
  organizationId: row.organization_id,
  installationId: row.installation_id,
  triggerId: row.id,
})

/**
 * Returns for which installation a caller writes a trigger: an installation for itself, a person for the one that the
 * request names, or that has the trigger.
 * @throws ApiError 400 `invalid_request` if a person names no installation for a new trigger
 * @throws ApiError 403 `insufficient_scope` if the installation may make no Sessions
 * @throws ApiError 404 `installation_not_found`
 */
export async function ownerToWrite(
  context: Pick<Context, 'db'>,
  principal: Principal,
  triggerId: string,
  named: string | undefined,
): Promise<InstallationPrincipal> {
  const { db } = context
  if (principal.kind === 'app_installation') {
    if (named !== undefined && named !== principal.id) throw refusal('installation_not_found')
    return principal
  }
  const { organizationId } = principal
  const installationId = named ?? (await findManaged(context, principal, triggerId))?.installation_id
  if (installationId === undefined)
    throw invalidField(['installationId'], 'must name the installation of a new trigger')
  if (!(await hasInstallation(db, { organizationId, installationId }))) throw refusal('installation_not_found')
  const owner = await readPrincipal(db, { organizationId, installationId })
  if (owner === null) throw refusal('insufficient_scope', { requiredScope: 'svc.cloud.sessions:create' })
  return owner
}

/** Returns the write that tells the audit log of a person's change; an installation's is not in the log. */
export function audited(
  { clock }: Pick<Context, 'clock'>,
  principal: Principal,
  clientAddress: string,
  action: 'trigger.written' | 'trigger.deleted' | 'trigger.secret_replaced',
  { triggerId, installationId, name }: OwnedTriggerKey & { readonly name?: string },
): (tx: Queryable) => Promise<void> {
  return async tx => {
    if (principal.kind !== 'person') return
    const details = { installationId, ...(name !== undefined && { name }) }
    const about = { target: `trigger ${triggerId}`, details }
    await appendAudit(tx, personEntry(principal, clientAddress, action, about), clock.now())
  }
}
