import type { LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import type { UpstreamError } from '../../kit/upstream-error.ts'
import { refuse } from '../formats/refuse.ts'
import type { TranslatedWire } from '../providers/upstream.ts'

/** What packages call a setting, and what the formats do. */
const params: Readonly<Record<string, string>> = {
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  responseFormat: 'response_format',
  seed: 'seed',
  serviceTier: 'service_tier',
  strict: 'tools',
  temperature: 'temperature',
  toolChoice: 'tool_choice',
  topP: 'top_p',
}

/**
 * The refusal that a package's warnings amount to: it left out a setting that the client gave, which is never done in
 * silence. Undefined where nothing was lost. What is known before a call is refused before it; this is for the rest.
 */
export function refusalOf(
  warnings: readonly SharedV4Warning[],
  wire: TranslatedWire,
  asked: { readonly options: LanguageModelV4CallOptions; readonly limited: boolean },
): UpstreamError | undefined {
  for (const warning of warnings) {
    if (warning.type !== 'unsupported') continue
    const { feature } = warning
    // A limit of ours for a client that set none may be cut to the provider's.
    if (feature === 'maxOutputTokens' && !asked.limited) continue
    const param = paramOf(feature, wire)
    return refuse(param, reasonIn(warning.details) || `${param} has no meaning for this model.`)
  }
  return undefined
}

/** What a package says, but that it leaves the setting out: the request is refused instead. */
const reasonIn = (details = '') =>
  details
    .split(/(?<=\.) /)
    .filter(sentence => !/\bignored\b/.test(sentence))
    .join(' ')

function paramOf(feature: string, wire: TranslatedWire): string {
  if (feature === 'maxOutputTokens') return wire === 'chat' ? 'max_completion_tokens' : 'max_output_tokens'
  if (/reasoning|thinking|effort/i.test(feature)) return wire === 'chat' ? 'reasoning_effort' : 'reasoning'
  return params[feature] ?? feature
}
