import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { type AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import * as shared from './library.ts'

const adder = tool(shared.add, { name: 'add', description: shared.description, schema: shared.addition })

function library(
  name: string,
  usable: readonly shared.ModelId[],
  keepsReasoning: readonly shared.ModelId[],
  open: (endpoint: shared.Endpoint, model: shared.ModelId, reasons: boolean) => BaseChatModel,
): shared.ClientLibrary {
  return {
    name: `LangChain, ${name}`,
    models: usable,
    keepsReasoning,
    ask: async (endpoint, model) => (await open(endpoint, model, false).invoke(shared.question)).text,
    async stream(endpoint, model) {
      let text = ''
      for await (const chunk of await open(endpoint, model, false).stream(shared.question)) text += chunk.text
      return text
    },
    async loop(endpoint, model, streams) {
      const bound = open(endpoint, model, true).bindTools?.([adder])
      if (bound === undefined) throw new Error('the model takes no tools')
      const messages: BaseMessage[] = [new HumanMessage(shared.task)]
      for (;;) {
        const message = streams ? await whole(await bound.stream(messages)) : await bound.invoke(messages)
        const calls = message.tool_calls ?? []
        if (calls.length === 0) return message.text
        messages.push(message)
        for (const { id = '', name: called, args } of calls) {
          messages.push(
            new ToolMessage({ tool_call_id: id, name: called, content: shared.add(shared.addition.parse(args)) }),
          )
        }
      }
    },
    structured: (endpoint, model) =>
      open(endpoint, model, false).withStructuredOutput(shared.place).invoke(shared.question),
  }
}

async function whole(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let message: AIMessageChunk | undefined
  for await (const chunk of stream) message = message === undefined ? chunk : message.concat(chunk)
  if (message === undefined) throw new Error('the stream was empty')
  return message
}

const openai = (useResponsesApi: boolean) => (endpoint: shared.Endpoint, model: shared.ModelId, reasons: boolean) =>
  new ChatOpenAI({
    model,
    apiKey: endpoint.key,
    configuration: { baseURL: `${endpoint.origin}/v1` },
    maxRetries: 0,
    useResponsesApi,
    ...(useResponsesApi && { zdrEnabled: true }),
    // With a summary, the library would use Responses.
    ...(reasons && { reasoning: { effort: 'high' as const, ...(useResponsesApi && { summary: 'auto' as const }) } }),
  })

export const langchainLibraries = [
  library('@langchain/openai, Chat Completions', shared.everyModel, [], openai(false)),
  library(
    '@langchain/openai, Responses',
    shared.everyModel,
    [shared.models.anthropic, shared.models.google],
    openai(true),
  ),
  library(
    '@langchain/anthropic',
    [shared.models.anthropic],
    [shared.models.anthropic],
    ({ origin, key }, model, reasons) =>
      new ChatAnthropic({
        model,
        apiKey: key,
        anthropicApiUrl: origin,
        maxRetries: 0,
        maxTokens: 2000,
        ...(reasons && { thinking: { type: 'enabled', budget_tokens: 1024 } }),
      }),
  ),
  library(
    '@langchain/google-genai',
    [shared.models.google],
    [shared.models.google],
    ({ origin, key }, model) => new ChatGoogleGenerativeAI({ model, apiKey: key, baseUrl: origin, maxRetries: 0 }),
  ),
]
