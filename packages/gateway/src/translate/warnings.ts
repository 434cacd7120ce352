import type { LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import type { TranslatedWire } from '@berth/core/accounting/upstream.ts'
import type { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { refuse } from '../formats/refuse.ts'
import { formatField } from './answer-format.ts'

/** The formats' names of settings, by the packages' names. */
const params: Readonly<Record<string, string>> = {
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  seed: 'seed',
  serviceTier: 'service_tier',
  strict: 'tools',
  temperature: 'temperature',
  toolChoice: 'tool_choice',
  topP: 'top_p',
}

/**
 * Turns a package's warnings into a refusal: a setting of the client is never dropped silently. Undefined if nothing
 * was dropped. It covers settings that the gateway could not refuse before the call.
 */
export function refusalOf(
  warnings: readonly SharedV4Warning[],
  wire: TranslatedWire,
  request: { readonly options: LanguageModelV4CallOptions; readonly limited: boolean },
): UpstreamError | undefined {
  for (const warning of warnings) {
    if (warning.type !== 'unsupported') continue
    const { feature } = warning
    // The gateway's own default limit, for a client that set none, may be cut to the provider's.
    if (feature === 'maxOutputTokens' && !request.limited) continue
    const param = paramOf(feature, wire)
    return refuse(param, reasonIn(warning.details) || `${param} is not supported by this model.`)
  }
  return undefined
}

/** Returns a package's reason without the sentence that the setting is ignored: the gateway refuses instead. */
const reasonIn = (details = '') =>
  details
    .split(/(?<=\.) /)
    .filter(sentence => !/\bignored\b/.test(sentence))
    .join(' ')

function paramOf(feature: string, wire: TranslatedWire): string {
  if (feature === 'responseFormat') return formatField[wire]
  if (feature === 'maxOutputTokens') return wire === 'chat' ? 'max_completion_tokens' : 'max_output_tokens'
  if (/reasoning|thinking|effort/i.test(feature)) return wire === 'chat' ? 'reasoning_effort' : 'reasoning'
  return params[feature] ?? feature
}
