import { streamSimple } from '@earendil-works/pi-ai/api/google-generative-ai'
import { asObject } from '../../json.ts'
import { sendable } from '../sendable.ts'
import type { Wire } from './wire.ts'

/** Tokens that a model without levels may think, by Berth's effort. */
const budgets: Readonly<Record<string, number>> = { minimal: 512, low: 2048, medium: 8192, high: 24_576, max: 24_576 }

/**
 * Google's generateContent. Thoughts and calls come with signatures.
 *
 * The SDK tells families of models apart by the provider's own name, so it gets that in place of the gateway's.
 */
export const generate: Wire = ({
  model: { compat: _, ...model },
  facts,
  context,
  options,
  fetch,
  outputTokensLeft,
}) => {
  const { providerModel: id } = facts
  const messages = context.messages.map(message =>
    message.role === 'assistant' && message.model === model.id ? { ...message, model: id } : message,
  )
  const baseUrl = model.baseUrl.replace(/\/v1$/, '/v1beta')
  return streamSimple(
    // Its own levels are replaced below.
    { ...model, id, baseUrl, api: 'google-generative-ai', thinkingLevelMap: {} },
    { ...context, messages },
    {
      ...options,
      maxTokens: Math.min(options.maxTokens ?? model.maxTokens, outputTokensLeft),
      onPayload: payload => {
        const { config, ...params } = asObject(payload)
        const { abortSignal, thinkingConfig: __, ...given } = asObject(config)
        const thinkingConfig = { includeThoughts: true, ...effortOf(options.reasoning, facts) }
        const sent = asObject(sendable({ ...given, ...(facts.reasoning && { thinkingConfig }) }))
        return { ...asObject(sendable(params)), model: model.id, config: { ...sent, abortSignal }, fetch }
      },
    },
  )
}

function effortOf(effort: string | undefined, { control, words }: Parameters<Wire>[0]['facts']): object {
  if (effort === undefined) return {}
  if (control === 'level') return { thinkingLevel: words[effort]?.toUpperCase() }
  return { thinkingBudget: budgets[effort] }
}
