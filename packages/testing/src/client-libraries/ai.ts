import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenResponses } from '@ai-sdk/open-responses'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from 'ai'
import {
  add,
  addition,
  type ClientLibrary,
  description,
  type Endpoint,
  everyModel,
  joined,
  type ModelId,
  models,
  place,
  question,
  task,
} from './library.ts'

type Options = Parameters<typeof generateText>[0]['providerOptions']

const tools = { add: tool({ description, inputSchema: addition, execute: add }) }

function library(
  name: string,
  usable: readonly ModelId[],
  keepsReasoning: readonly ModelId[],
  open: (endpoint: Endpoint, model: ModelId) => LanguageModel,
  options: { readonly providerOptions?: Options; readonly reasoning?: Options } = {},
): ClientLibrary {
  const ask = (endpoint: Endpoint, model: ModelId) => ({
    model: open(endpoint, model),
    maxRetries: 0,
    ...(options.providerOptions && { providerOptions: options.providerOptions }),
  })
  return {
    name: `ai, ${name}`,
    models: usable,
    keepsReasoning,
    ask: async (endpoint, model) => (await generateText({ ...ask(endpoint, model), prompt: question })).text,
    stream: (endpoint, model) => joined(streamText({ ...ask(endpoint, model), prompt: question }).textStream),
    async loop(endpoint, model, streams) {
      const call = { ...ask(endpoint, model), prompt: task, tools, stopWhen: stepCountIs(3) }
      const reasoned = { ...call, ...(options.reasoning && { providerOptions: options.reasoning }) }
      if (!streams) return (await generateText(reasoned)).text
      const answer = streamText(reasoned)
      await answer.consumeStream()
      return answer.text
    },
    async structured(endpoint, model) {
      const output = Output.object({ schema: place })
      return (await generateText({ ...ask(endpoint, model), prompt: question, output })).output
    },
  }
}

const openai = ({ origin, key }: Endpoint) => createOpenAI({ baseURL: `${origin}/v1`, apiKey: key })
const signed = [models.anthropic, models.google]

export const aiLibraries: readonly ClientLibrary[] = [
  library('@ai-sdk/openai, Chat Completions', everyModel, [], (endpoint, model) => openai(endpoint).chat(model)),
  library('@ai-sdk/openai, Responses', everyModel, signed, (endpoint, model) => openai(endpoint).responses(model), {
    providerOptions: { openai: { store: false } },
    reasoning: { openai: { store: false, forceReasoning: true, reasoningEffort: 'high', reasoningSummary: 'auto' } },
  }),
  library('@ai-sdk/openai-compatible', everyModel, [models.google], ({ origin, key }, model) =>
    createOpenAICompatible({
      name: 'berth',
      baseURL: `${origin}/v1`,
      apiKey: key,
      supportsStructuredOutputs: true,
    })(model),
  ),
  library('@ai-sdk/open-responses', everyModel, signed, ({ origin, key }, model) =>
    createOpenResponses({ name: 'berth', url: `${origin}/v1/responses`, apiKey: key })(model),
  ),
  library('@ai-sdk/anthropic', [models.anthropic], [models.anthropic], ({ origin, key }, model) =>
    createAnthropic({ baseURL: `${origin}/v1`, apiKey: key })(model),
  ),
  library('@ai-sdk/google', [models.google], [models.google], ({ origin, key }, model) =>
    createGoogle({ baseURL: `${origin}/v1beta`, apiKey: key })(model),
  ),
]
