import type { PricedModelList } from '@berth/contract'
import { wholePrice } from '@berth/core/accounting/cost.ts'
import type { Config } from '@berth/platform/settings/config-file.ts'
import type { ModelConfig } from '@berth/platform/settings/model-config.ts'

/** Returns the models that a configuration describes, and which of them an organization may use. */
export function pricedModels(
  { providers, models }: Pick<Config, 'providers' | 'models'>,
  allowed: ReadonlySet<string> | null,
): PricedModelList {
  const described = new Map<string, ModelConfig>(
    providers.flatMap(({ id: provider, models: served = [] }) =>
      served.map(model => [`${provider}/${model.id}`, model] as const),
    ),
  )
  for (const [id, model] of Object.entries(models.details)) if (!described.has(id)) described.set(id, model)
  const kinds = new Map(providers.map(({ id, kind }) => [id, kind]))
  const aliasesOf = (id: string) => Object.keys(models.aliases).filter(alias => models.aliases[alias] === id)
  const main = models.default === undefined ? undefined : (models.aliases[models.default] ?? models.default)
  const known = [...described].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    models: known.map(([id, { contextTokens, outputTokens, tools, reasoning, price }]) => ({
      id,
      provider: id.slice(0, id.indexOf('/')),
      aliases: aliasesOf(id),
      isDefault: id === main,
      allowed: allowed === null || allowed.has(id),
      contextTokens: contextTokens ?? null,
      outputTokens: outputTokens ?? null,
      tools,
      reasoning,
      price: wholePrice(kinds.get(id.slice(0, id.indexOf('/'))), price) ?? null,
    })),
    openProviders: providers.filter(({ models: listed }) => listed === undefined).map(({ id }) => id),
    restricted: allowed !== null,
  }
}
