import type { JSONObject, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { TranslatedWire } from '@berth/core/accounting/upstream.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import { speaksChat, type Target } from './target.ts'
import type { ToolOptions } from './tools.ts'

type Effort = NonNullable<LanguageModelV4CallOptions['reasoning']>
const efforts: ReadonlySet<string> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

/** Controls that each provider takes in its own form. */
interface Controls {
  readonly effort: Effort | undefined
  /** Whether the client asked for a summary of the reasoning. */
  readonly summary: boolean
  readonly oneCall: boolean
  readonly tier: string | undefined
  readonly user: string | undefined
  /** Of the client's choice: requests with one key share a cache. */
  readonly cacheKey: string | undefined
  readonly verbosity: string | undefined
  readonly strictAnswer: boolean | undefined
}

type ProviderControls = Pick<LanguageModelV4CallOptions, 'reasoning' | 'providerOptions'>

/** Field names that differ between the two formats. */
const names = {
  chat: { effort: 'reasoning_effort', verbosity: 'verbosity' },
  responses: { effort: 'reasoning.effort', verbosity: 'text.verbosity' },
} as const satisfies Record<TranslatedWire, object>

/**
 * Reads effort, parallel calls, service tier, verbosity, the end user and the key of a cache. Only OpenAI's own services know
 * such a key; other providers find a prefix by its text.
 */
export function readControls(
  body: Json,
  given: {
    readonly wire: TranslatedWire
    readonly effort: unknown
    readonly summary?: boolean
    readonly verbosity: unknown
    readonly strictAnswer?: boolean | undefined
    readonly tools: ToolOptions
  },
  target: Target,
): ProviderControls & { readonly oneCall: boolean } {
  const name = names[given.wire]
  const oneCall = body['parallel_tool_calls'] === false && given.tools.tools !== undefined
  const tier = body['service_tier']
  const user = body['safety_identifier'] ?? body['user']
  const controls: Controls = {
    effort: readEffort(given.effort, name.effort, target),
    summary: given.summary === true,
    oneCall,
    tier: typeof tier === 'string' && tier !== 'auto' ? tier : undefined,
    user: optionalText(user),
    cacheKey: optionalText(body['prompt_cache_key']),
    // Medium is the default of every model.
    verbosity: typeof given.verbosity === 'string' && given.verbosity !== 'medium' ? given.verbosity : undefined,
    strictAnswer: given.strictAnswer,
  }
  if (controls.verbosity !== undefined && !speaksChat(target.model)) {
    throw refuse(name.verbosity, `${target.model.id} has no control of verbosity.`)
  }
  const reasoning = controls.effort !== undefined && { reasoning: controls.effort }
  const { kind } = target.model
  if (kind === 'anthropic') return { ...reasoning, oneCall: false, ...anthropicControls(controls, target) }
  if (kind === 'google') return { ...reasoning, oneCall, ...googleControls(controls, target) }
  return { ...reasoning, oneCall: false, ...chatControls(controls, target) }
}

const optionalText = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

function readEffort(effort: unknown, param: string, { model }: Target): Effort | undefined {
  if (effort === undefined || effort === null) return undefined
  if (typeof effort !== 'string' || !efforts.has(effort)) throw refuse(param, `${param} is not a known effort.`)
  return model.reasoning ? (effort as Effort) : undefined
}

function anthropicControls({ oneCall, tier, user }: Controls, { model }: Target): ProviderControls {
  if (tier !== undefined && tier !== 'default') throw noTier(tier, model.id)
  const anthropic: JSONObject = {
    ...(oneCall && { disableParallelToolUse: true }),
    ...(tier === 'default' && { serviceTier: 'standard_only' }),
    ...(user !== undefined && { metadata: { userId: user } }),
  }
  return { providerOptions: { anthropic } }
}

/** Google's names of the tiers. */
const googleTiers: ReadonlyMap<string, string> = new Map([
  ['default', 'standard'],
  ['flex', 'flex'],
  ['priority', 'priority'],
])

function googleControls({ tier, summary, effort }: Controls, { model }: Target): ProviderControls {
  const serviceTier = tier === undefined ? undefined : googleTiers.get(tier)
  if (tier !== undefined && serviceTier === undefined) throw noTier(tier, model.id)
  const thoughts = model.reasoning && (summary || (effort !== undefined && effort !== 'none'))
  const google: JSONObject = {
    ...(thoughts && { thinkingConfig: { includeThoughts: true } }),
    ...(serviceTier !== undefined && { serviceTier }),
  }
  return { providerOptions: { google } }
}

/**
 * Builds the options even if they are empty: the package names its metadata after them, and a replay must find it
 * again.
 */
function chatControls(controls: Controls, { native, optionsName }: Target): ProviderControls {
  const { tier, user, cacheKey, verbosity, strictAnswer, oneCall } = controls
  const options: JSONObject = {
    ...(native && { store: false, ...(cacheKey !== undefined && { promptCacheKey: cacheKey }) }),
    ...(user !== undefined && { user }),
    ...(verbosity !== undefined && { textVerbosity: verbosity }),
    ...(strictAnswer !== undefined && { strictJsonSchema: strictAnswer }),
    ...(tier !== undefined && { [native ? 'serviceTier' : 'service_tier']: tier }),
    ...(oneCall && { [native ? 'parallelToolCalls' : 'parallel_tool_calls']: false }),
  }
  return { providerOptions: { [optionsName]: options } }
}

const noTier = (tier: string, model: string) => refuse('service_tier', `${model} has no service tier "${tier}".`)
