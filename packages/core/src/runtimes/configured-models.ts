import type { Effort } from '@berth/contract'
import type { Config } from '@berth/platform/settings/config-file.ts'
import type { ModelConfig } from '@berth/platform/settings/model-config.ts'
import type { ModelFacts, RuntimeEntry } from './catalog.ts'
import { reasoningOf } from './reasoning.ts'

/** The models of the configuration file. */
export interface ConfiguredModels {
  has(id: string): boolean
  /** Returns true unless the configuration says that the model does not reason. */
  reasons(id: string): boolean
  /** Returns true if the model's provider natively speaks a format. */
  speaks(id: string, format: NonNullable<RuntimeEntry['speaks']>): boolean
  /** Returns the first listed model whose provider does; null if there is none. */
  firstThatSpeaks(format: NonNullable<RuntimeEntry['speaks']>): string | null
  /**
   * Returns the ids and aliases that can be chosen, as far as the configuration lists them.
   * @param format only those whose provider natively speaks it
   * @param allowed the ids that an organization may use; null for every one
   */
  choices(format: RuntimeEntry['speaks'], allowed: ReadonlySet<string> | null): string[]
  /** Returns the facts about a model for an agent; only the id if the gateway has to ask the provider. */
  facts(id: string, effort: Effort | null): ModelFacts
}

/** Returns the models that a configuration names, by `<provider>/<model>` or alias. */
export function configuredModels({ providers, models }: Pick<Config, 'providers' | 'models'>): ConfiguredModels {
  const known = new Map<string, ModelConfig>(
    providers.flatMap(({ id, models: served = [] }) => served.map(model => [`${id}/${model.id}`, model] as const)),
  )
  // Only the gateway knows the models of a provider without a list, because it asks the provider.
  const open = providers.filter(({ models: listed }) => listed === undefined).map(({ id }) => `${id}/`)
  const providerOf = (id: string) => {
    const catalogId = Object.hasOwn(models.aliases, id) ? (models.aliases[id] ?? id) : id
    return providers.find(provider => provider.id === catalogId.slice(0, catalogId.indexOf('/')))
  }
  const detailsOf = (id: string) => models.details[models.aliases[id] ?? id]
  const effortOf = (id: string, level: Effort | null) => {
    const kind = providerOf(id)?.kind
    if (level === null || kind === undefined) return {}
    const catalogId = models.aliases[id] ?? id
    const { efforts, control } = reasoningOf({ kind, model: catalogId.slice(catalogId.indexOf('/') + 1) })
    return { effort: { level, word: efforts[level], control } }
  }
  const isServed = (id: string) => known.has(id) || open.some(prefix => id.startsWith(prefix))
  return {
    has: id => isServed(id) || Object.hasOwn(models.aliases, id),
    reasons: id => (known.get(id) ?? known.get(models.aliases[id] ?? '') ?? detailsOf(id))?.reasoning ?? true,
    speaks: (id, format) => providerOf(id)?.wire.includes(format) ?? false,
    firstThatSpeaks: format => [...known.keys()].find(id => providerOf(id)?.wire.includes(format)) ?? null,
    choices(format, allowed) {
      const ids = [...known.keys()].filter(
        id =>
          (format === undefined || providerOf(id)?.wire.includes(format) === true) &&
          (allowed === null || allowed.has(id)),
      )
      const aliases = Object.entries(models.aliases).filter(([, id]) => ids.includes(id))
      return [...aliases.map(([alias]) => alias).sort(), ...ids.sort()]
    },
    facts(id, effort) {
      const { contextTokens, outputTokens } = known.get(id) ?? known.get(models.aliases[id] ?? '') ?? {}
      return {
        id,
        ...(contextTokens !== undefined && { contextTokens }),
        ...(outputTokens !== undefined && { outputTokens }),
        ...effortOf(id, effort),
      }
    },
  }
}
