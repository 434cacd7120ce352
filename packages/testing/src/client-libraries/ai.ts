import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenResponses } from '@ai-sdk/open-responses'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from 'ai'
import * as shared from './library.ts'

type Options = Parameters<typeof generateText>[0]['providerOptions']

const tools = { add: tool({ description: shared.description, inputSchema: shared.addition, execute: shared.add }) }

function library(
  name: string,
  usable: readonly shared.ModelId[],
  keepsReasoning: readonly shared.ModelId[],
  open: (endpoint: shared.Endpoint, model: shared.ModelId) => LanguageModel,
  options: { readonly providerOptions?: Options; readonly reasoning?: Options } = {},
): shared.ClientLibrary {
  const ask = (endpoint: shared.Endpoint, model: shared.ModelId) => ({
    model: open(endpoint, model),
    maxRetries: 0,
    ...(options.providerOptions && { providerOptions: options.providerOptions }),
  })
  return {
    name: `ai, ${name}`,
    models: usable,
    keepsReasoning,
    ask: async (endpoint, model) => (await generateText({ ...ask(endpoint, model), prompt: shared.question })).text,
    stream: (endpoint, model) =>
      shared.joined(streamText({ ...ask(endpoint, model), prompt: shared.question }).textStream),
    async loop(endpoint, model, streams) {
      const call = { ...ask(endpoint, model), prompt: shared.task, tools, stopWhen: stepCountIs(3) }
      const reasoned = { ...call, ...(options.reasoning && { providerOptions: options.reasoning }) }
      if (!streams) return (await generateText(reasoned)).text
      const answer = streamText(reasoned)
      await answer.consumeStream()
      return answer.text
    },
    async structured(endpoint, model) {
      const output = Output.object({ schema: shared.place })
      return (await generateText({ ...ask(endpoint, model), prompt: shared.question, output })).output
    },
  }
}

const openai = ({ origin, key }: shared.Endpoint) => createOpenAI({ baseURL: `${origin}/v1`, apiKey: key })
const signed = [shared.models.anthropic, shared.models.google]

export const aiLibraries: readonly shared.ClientLibrary[] = [
  library('@ai-sdk/openai, Chat Completions', shared.everyModel, [], (endpoint, model) => openai(endpoint).chat(model)),
  library(
    '@ai-sdk/openai, Responses',
    shared.everyModel,
    signed,
    (endpoint, model) => openai(endpoint).responses(model),
    {
      providerOptions: { openai: { store: false } },
      reasoning: { openai: { store: false, forceReasoning: true, reasoningEffort: 'high', reasoningSummary: 'auto' } },
    },
  ),
  library('@ai-sdk/openai-compatible', shared.everyModel, [shared.models.google], ({ origin, key }, model) =>
    createOpenAICompatible({
      name: 'berth',
      baseURL: `${origin}/v1`,
      apiKey: key,
      supportsStructuredOutputs: true,
    })(model),
  ),
  library('@ai-sdk/open-responses', shared.everyModel, signed, ({ origin, key }, model) =>
    createOpenResponses({ name: 'berth', url: `${origin}/v1/responses`, apiKey: key })(model),
  ),
  library('@ai-sdk/anthropic', [shared.models.anthropic], [shared.models.anthropic], ({ origin, key }, model) =>
    createAnthropic({ baseURL: `${origin}/v1`, apiKey: key })(model),
  ),
  library('@ai-sdk/google', [shared.models.google], [shared.models.google], ({ origin, key }, model) =>
    createGoogle({ baseURL: `${origin}/v1beta`, apiKey: key })(model),
  ),
]
