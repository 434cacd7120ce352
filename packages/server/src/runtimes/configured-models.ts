import type { Config, ModelConfig } from '../settings/config-file.ts'
import type { ModelFacts, RuntimeEntry } from './catalog.ts'

/** What the configuration says of models. */
export interface ConfiguredModels {
  has(id: string): boolean
  /** Whether the model's provider speaks a format by itself. */
  speaks(id: string, format: NonNullable<RuntimeEntry['speaks']>): boolean
  /** The first that is named whose provider does; null where none is. */
  firstThatSpeaks(format: NonNullable<RuntimeEntry['speaks']>): string | null
  /** What an agent is told of a model; the id alone where its provider is yet to be asked. */
  facts(id: string): ModelFacts
}

/** The models that a configuration names, by `<provider>/<model>` or alias. */
export function configuredModels({ providers, models }: Pick<Config, 'providers' | 'models'>): ConfiguredModels {
  const known = new Map<string, ModelConfig>(
    providers.flatMap(({ id, models: served = [] }) => served.map(model => [`${id}/${model.id}`, model] as const)),
  )
  // What a provider without a list of its own serves is known only to the gateway, which asks it.
  const open = providers.filter(({ models: listed }) => listed === undefined).map(({ id }) => `${id}/`)
  const providerOf = (id: string) => {
    const catalogId = Object.hasOwn(models.aliases, id) ? (models.aliases[id] ?? id) : id
    return providers.find(provider => provider.id === catalogId.slice(0, catalogId.indexOf('/')))
  }
  const isServed = (id: string) => known.has(id) || open.some(prefix => id.startsWith(prefix))
  return {
    has: id => isServed(id) || Object.hasOwn(models.aliases, id),
    speaks: (id, format) => providerOf(id)?.wire.includes(format) ?? false,
    firstThatSpeaks: format => [...known.keys()].find(id => providerOf(id)?.wire.includes(format)) ?? null,
    facts(id) {
      const { contextTokens, outputTokens } = known.get(id) ?? known.get(models.aliases[id] ?? '') ?? {}
      return {
        id,
        ...(contextTokens !== undefined && { contextTokens }),
        ...(outputTokens !== undefined && { outputTokens }),
      }
    },
  }
}
