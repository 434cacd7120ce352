import { findAllowedModels } from '@berth/core/accounting/own-budgets.ts'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { checkProvider } from '@berth/gateway/providers/check-provider.ts'
import type { Config } from '@berth/platform/settings/config-file.ts'
import { type DeploymentLimits, readSettings, updateSettings } from './organization-settings.ts'
import { pricedModels } from './priced-models.ts'

type Operations = 'getOrganizationSettings' | 'updateOrganizationSettings' | 'listPricedModels' | 'checkModels'

/** One answer of a provider is for all who ask meanwhile: each asks the operator's provider, and some for a word. */
const CHECK_STANDS_MS = 30_000

/** Serves the limits of an organization, and its models. */
export function settingsHandlers(
  context: Pick<Context, 'db' | 'clock' | 'commits' | 'gitHosts' | 'wakeups' | 'log'>,
  deployment: DeploymentLimits,
  config: Pick<Config, 'providers' | 'models'>,
): Pick<Handlers, Operations> {
  const described = Object.keys(config.models.details)
  const checks = new Map<string, { readonly answer: ReturnType<typeof checkProvider>; readonly until: number }>()
  const check = (provider: Config['providers'][number]) => {
    const { id, models } = provider
    const now = context.clock.now().getTime()
    const known = checks.get(id)
    if (known !== undefined && now < known.until) return known.answer
    const model = models?.[0]?.id ?? described.find(name => name.startsWith(`${id}/`))?.slice(id.length + 1)
    const answer = checkProvider(provider, model)
    checks.set(id, { answer, until: now + CHECK_STANDS_MS })
    return answer
  }
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
    checkModels: async ({ principal: { organizationId } }) => {
      const allowed = await findAllowedModels(context.db, organizationId)
      const open = config.providers.filter(
        ({ id }) => allowed === null || [...allowed].some(model => model.startsWith(`${id}/`)),
      )
      return { status: 200, body: { providers: await Promise.all(open.map(check)) } }
    },
  }
}
