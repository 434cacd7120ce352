import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Json } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import type { Target } from './target.ts'

type Sampling = Pick<
  LanguageModelV4CallOptions,
  'temperature' | 'topP' | 'frequencyPenalty' | 'presencePenalty' | 'seed'
>

const number = (value: unknown) => (typeof value === 'number' ? value : undefined)
/** Drops a neutral value: some providers refuse it, and it changes nothing. */
const unless = (neutral: number, value: unknown) => (value === neutral ? undefined : number(value))

/** Reads sampling settings. It refuses any that the provider would clamp, ignore or refuse. */
export function readSampling(body: Json, reasons: boolean, target: Target): Sampling {
  const temperature = number(body['temperature'])
  const topP = unless(1, body['top_p'])
  const frequencyPenalty = unless(0, body['frequency_penalty'])
  const presencePenalty = unless(0, body['presence_penalty'])
  const seed = number(body['seed'])
  const { model } = target
  if (model.kind === 'anthropic') {
    const no = (param: string, why: string) => refuse(param, `${param}: ${model.id} ${why}.`)
    if (frequencyPenalty !== undefined) throw no('frequency_penalty', 'takes no penalties')
    if (presencePenalty !== undefined) throw no('presence_penalty', 'takes no penalties')
    if (seed !== undefined) throw no('seed', 'takes no seed')
    if (temperature !== undefined && temperature > 1) throw no('temperature', 'takes 0 to 1')
    if (reasons && temperature !== undefined && temperature !== 1) throw no('temperature', 'takes none when it reasons')
    if (reasons && topP !== undefined) throw no('top_p', 'takes none when it reasons')
    if (topP !== undefined && temperature !== undefined) throw no('top_p', 'takes this or temperature, not both')
  }
  const sampled = model.kind === 'anthropic' && reasons ? undefined : temperature
  return {
    ...(sampled !== undefined && { temperature: sampled }),
    ...(topP !== undefined && { topP }),
    ...(frequencyPenalty !== undefined && { frequencyPenalty }),
    ...(presencePenalty !== undefined && { presencePenalty }),
    ...(seed !== undefined && { seed }),
  }
}

/** Returns the output limit: the client's, or the model's if the provider requires one. */
export function readLimit(requested: unknown, { model }: Target): Pick<LanguageModelV4CallOptions, 'maxOutputTokens'> {
  const limit = number(requested) ?? (model.kind === 'anthropic' ? model.outputTokens : undefined)
  return limit === undefined ? {} : { maxOutputTokens: limit }
}
