import type { Installation } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../../context.ts'
import type { AccountHandlers } from '../../http/routing/handler.ts'
import { appendAudit } from '../audit/append.ts'
import { personEntry } from '../audit/person-entry.ts'
import { requireOwn } from '../organizations/require-own.ts'
import { changeGrant, type InstallationRow, listInstallations } from './installation-sql.ts'
import { revokeInstallation } from './revoke.ts'

/** The operations on an organization's installations. */
export function installationHandlers({
  db,
  clock,
}: Pick<Context, 'db' | 'clock'>): Pick<
  AccountHandlers,
  'listInstallations' | 'updateInstallation' | 'revokeInstallation'
> {
  return {
    listInstallations: async ({ principal, params }) => {
      requireOwn(principal, params.organizationId)
      const installations = (await listInstallations(db, principal.organizationId)).map(toInstallation)
      return { status: 200, body: { success: true, installations } }
    },

    updateInstallation: async ({ principal, params: { installationId }, body: { capabilities }, clientAddress }) => {
      const changed = await db.transaction(async tx => {
        const row = await changeGrant(tx, principal.organizationId, installationId, capabilities)
        if (row === null) throw refusal('installation_not_found')
        const audited = { target: `installation ${installationId}`, details: { capabilities } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'installation.changed', audited), clock.now())
        return row
      })
      return { status: 200, body: { success: true, installation: toInstallation(changed) } }
    },

    revokeInstallation: async ({ principal, params: { installationId }, clientAddress }) => {
      await db.transaction(async tx => {
        const ended = await revokeInstallation(tx, principal.organizationId, installationId, clock.now())
        if (ended === null) throw refusal('installation_not_found')
        const audited = { target: `installation ${installationId}` }
        if (ended)
          await appendAudit(tx, personEntry(principal, clientAddress, 'installation.revoked', audited), clock.now())
      })
      return { status: 204 }
    },
  }
}

const toInstallation = (row: InstallationRow): Installation => ({
  id: row.id,
  kind: row.kind,
  app: row.app_slug,
  ...(row.app_name !== null && { appName: row.app_name }),
  ...(row.name !== null && { name: row.name }),
  capabilities: row.capabilities,
  createdAt: row.created_at.toISOString(),
  ...(row.revoked_at !== null && { revokedAt: row.revoked_at.toISOString() }),
})
