import { streamSimple } from '@earendil-works/pi-ai/api/openai-responses'
import { asObject } from '../../json.ts'
import { sendable } from '../sendable.ts'
import type { Wire } from './wire.ts'

/**
 * OpenAI's Responses. Reasoning arrives as items with `encrypted_content`, which the request asks for. The gateway adds
 * them to what it translates.
 */
export const responses: Wire = ({ model, facts, context, options, fetch, outputTokensLeft }) =>
  streamSimple({ ...model, api: 'openai-responses' }, context, {
    ...options,
    fetch,
    maxTokens: Math.min(options.maxTokens ?? model.maxTokens, outputTokensLeft),
    onPayload: payload => {
      const body = asObject(sendable(payload))
      if (!facts.reasoning) return body
      const word = options.reasoning === undefined ? undefined : facts.words[options.reasoning]
      const reasoning = { summary: 'auto', ...(word !== undefined && { effort: word }) }
      return { ...body, reasoning, include: ['reasoning.encrypted_content'] }
    },
  })
