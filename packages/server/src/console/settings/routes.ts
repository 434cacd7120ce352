import { findAllowedModels } from '@berth/core/accounting/own-budgets.ts'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { checkProvider } from '@berth/gateway/providers/check-provider.ts'
import type { Config } from '@berth/platform/settings/config-file.ts'
import { type DeploymentLimits, readSettings, updateSettings } from './organization-settings.ts'
import { pricedModels } from './priced-models.ts'

type Operations = 'getOrganizationSettings' | 'updateOrganizationSettings' | 'listPricedModels' | 'checkModels'

/** Serves what an organization may use, and of which models. */
export function settingsHandlers(
  context: Pick<Context, 'db' | 'clock' | 'commits' | 'gitHosts' | 'wakeups' | 'log'>,
  deployment: DeploymentLimits,
  config: Pick<Config, 'providers' | 'models'>,
): Pick<Handlers, Operations> {
  return {
    getOrganizationSettings: async ({ principal: { organizationId } }) => ({
      status: 200,
      body: await readSettings(context, organizationId, deployment),
    }),
    updateOrganizationSettings: async ({ principal, body, clientAddress }) => ({
      status: 200,
      body: await updateSettings(context, principal, body, deployment, clientAddress),
    }),
    listPricedModels: async ({ principal: { organizationId } }) => ({
      status: 200,
      body: pricedModels(config, await findAllowedModels(context.db, organizationId)),
    }),
    checkModels: async () => {
      const described = Object.keys(config.models.details)
      const modelOf = (id: string) => described.find(name => name.startsWith(`${id}/`))?.slice(id.length + 1)
      const asked = config.providers.map(provider =>
        checkProvider(provider, provider.models?.[0]?.id ?? modelOf(provider.id)),
      )
      return { status: 200, body: { providers: await Promise.all(asked) } }
    },
  }
}
