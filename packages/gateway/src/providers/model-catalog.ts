import { wholePrice } from '@berth/core/accounting/cost.ts'
import type { ResolvedModel, StatedPrice } from '@berth/core/accounting/upstream.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Provider } from './provider-client.ts'
import type { ListedModel } from './provider-list.ts'

/** A model as an operator describes it. */
export type DescribedModel = Pick<
  ResolvedModel,
  'contextTokens' | 'outputTokens' | 'tools' | 'reasoning' | 'modalities'
> & { readonly id: string; readonly price: StatedPrice | undefined }

/** The dependencies and settings of a catalog. */
export interface CatalogOptions {
  readonly providers: readonly (Provider & { readonly models: readonly DescribedModel[] | undefined })[]
  readonly aliases: Readonly<Record<string, string>>
  readonly fallbacks: Readonly<Record<string, readonly string[]>>
  readonly details: Readonly<Record<string, DescribedModel>>
  /** Lists the models of a provider that is configured without models. */
  readonly fetchList: (providerId: string) => Promise<readonly ListedModel[]>
  readonly clock: Clock
  readonly onError: (error: unknown, providerId: string) => void
}

interface KnownList {
  readonly models: readonly DescribedModel[]
  /** Whether the provider answered the last request for its list. */
  readonly answered: boolean
  readonly until: number
}

const unknownModel = { contextTokens: undefined, outputTokens: undefined, modalities: undefined, price: undefined }

const listLifeMs = 300_000
/** How long a failed list counts before the provider is asked again; the last known list stays in use. */
const failureLifeMs = 15_000

/** The models of the deployment: configured ones, ones that providers list, and aliases. */
export class ModelCatalog {
  readonly #options: CatalogOptions
  readonly #lists = new Map<string, KnownList>()
  readonly #asking = new Map<string, Promise<readonly DescribedModel[]>>()

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#options.providers.length === 0
  }

  /** Ids of the providers that did not answer with their lists when they were last asked: what is listed of them may be old. */
  get silent(): readonly string[] {
    return this.#options.providers.flatMap(({ id, models }) =>
      models === undefined && this.#lists.get(id)?.answered === false ? [id] : [],
    )
  }

  /** Returns whether an id may name a model. Any id may, for a provider that lists its own models. */
  has(id: string): boolean {
    const found = this.#place(id)
    return found !== null && (found.provider.models?.some(model => model.id === found.model) ?? true)
  }

  /** Returns the model that an id names, followed by its fallbacks. Empty if there is no such model. */
  async candidates(id: string): Promise<readonly ResolvedModel[]> {
    const first = await this.#resolve(id, id)
    if (first === null) return []
    const { fallbacks } = this.#options
    const names = fallbacks[id] ?? fallbacks[first.catalogId] ?? []
    const others = await Promise.all(names.map(name => this.#resolve(name, id)))
    return [first, ...others.filter(other => other !== null)]
  }

  /** Lists every model by its catalog id, then the aliases. */
  async list(): Promise<readonly ResolvedModel[]> {
    const { providers, aliases } = this.#options
    const lists = await Promise.all(
      providers.map(async provider => {
        const models = await this.#modelsOf(provider)
        return models.map(model => resolved(provider, model, `${provider.id}/${model.id}`))
      }),
    )
    const models = lists.flat()
    const named = Object.entries(aliases).flatMap(([id, target]) => {
      const model = models.find(({ catalogId }) => catalogId === target)
      return model === undefined ? [] : [{ ...model, id }]
    })
    return [...models, ...named]
  }

  async #resolve(id: string, requestedId: string): Promise<ResolvedModel | null> {
    const found = this.#place(id)
    if (found === null) return null
    const models = await this.#modelsOf(found.provider)
    const model =
      models.find(candidate => candidate.id === found.model) ?? this.#undescribed(found.provider, found.model)
    return model === null ? null : resolved(found.provider, model, requestedId)
  }

  /**
   * Returns a model of a provider whose list failed. The request then reports the real cause, such as a refused key,
   * and may fall back; "no such model" would be misleading.
   */
  #undescribed(provider: CatalogOptions['providers'][number], id: string): DescribedModel | null {
    if (provider.models !== undefined || this.#lists.get(provider.id)?.answered !== false) return null
    return this.#describe(provider.id, { ...unknownModel, id })
  }

  #describe(providerId: string, model: ListedModel): DescribedModel {
    return this.#options.details[`${providerId}/${model.id}`] ?? describe(model)
  }

  #place(id: string) {
    const { aliases, providers } = this.#options
    const catalogId = Object.hasOwn(aliases, id) ? (aliases[id] ?? id) : id
    const slash = catalogId.indexOf('/')
    const provider = providers.find(candidate => candidate.id === catalogId.slice(0, slash))
    return slash === -1 || provider === undefined ? null : { provider, model: catalogId.slice(slash + 1) }
  }

  /** Asks each provider at most once at a time, however many callers wait. */
  async #modelsOf(provider: CatalogOptions['providers'][number]): Promise<readonly DescribedModel[]> {
    if (provider.models !== undefined) return provider.models
    const known = this.#lists.get(provider.id)
    if (known !== undefined && known.until > this.#options.clock.now().getTime()) return known.models
    const asking = this.#asking.get(provider.id) ?? this.#ask(provider.id, known?.models ?? [])
    this.#asking.set(provider.id, asking)
    return asking
  }

  async #ask(providerId: string, last: readonly DescribedModel[]): Promise<readonly DescribedModel[]> {
    const { fetchList, clock, onError } = this.#options
    let list: KnownList
    try {
      const listed = await fetchList(providerId)
      const models = listed.map(model => this.#describe(providerId, model))
      list = { models, answered: true, until: clock.now().getTime() + listLifeMs }
    } catch (error) {
      onError(error, providerId)
      list = { models: last, answered: false, until: clock.now().getTime() + failureLifeMs }
    }
    this.#lists.set(providerId, list)
    this.#asking.delete(providerId)
    return list.models
  }
}

/** Assumes every capability of a model whose name alone is known. */
function describe(model: ListedModel): DescribedModel {
  return { ...model, tools: true, reasoning: true, modalities: model.modalities ?? ['text'] }
}

function resolved(provider: Provider, model: DescribedModel, id: string): ResolvedModel {
  return {
    ...model,
    id,
    catalogId: `${provider.id}/${model.id}`,
    provider: provider.id,
    kind: provider.kind,
    model: model.id,
    price: wholePrice(provider.kind, model.price),
    wire: provider.wire,
  }
}
