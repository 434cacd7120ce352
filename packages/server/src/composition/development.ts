import { provideOwnInstallation } from '@berth/core/accounts/installations/own-installation.ts'
import { isEmptyDeployment } from '@berth/core/accounts/people/bootstrap.ts'
import type { Context } from '@berth/core/context.ts'
import { provideDevelopmentTenant, renewDevelopmentUrls } from '@berth/core/identity/development/development-file.ts'
import {
  type DevelopmentTenant,
  findDevelopmentInstallation,
} from '@berth/core/identity/development/development-tenant.ts'
import { grantLocal } from '@berth/core/repositories/grant-local.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'

/**
 * Makes the development tenant in an empty database and grants it and its people the repositories of this machine.
 * @param answersApi true if this process serves the URLs that it writes to `dev.json`
 * @returns the tenant's secrets if this start made it; null otherwise, and always outside development
 */
export async function provideDevelopment(
  context: Context,
  { identity, listener, production, urls, dataDir }: Settings,
  answersApi: boolean,
): Promise<DevelopmentTenant | null> {
  // The tenants are those of the other deployment.
  if (identity.far !== undefined) return null
  if (!listener.loopback || production) {
    if (await isEmptyDeployment(context.db)) {
      context.log.warn(
        'nobody can sign in yet: run berth admin bootstrap --email <email> --organization <name> with the settings of this service',
      )
    }
    return null
  }
  const file = { ...urls, dataDir }
  const tenant = await provideDevelopmentTenant(context.db, file, context.clock.now())
  if (answersApi) await renewDevelopmentUrls(context.db, file)
  const installation = await findDevelopmentInstallation(context.db)
  if (installation !== null) {
    const { organizationId } = installation
    await grantLocal(context, installation)
    const own = await provideOwnInstallation(context, organizationId)
    // Only once: its connections are the administrators' to change.
    if (own.isNew) await grantLocal(context, { organizationId, installationId: own.id })
  }
  return tenant
}
