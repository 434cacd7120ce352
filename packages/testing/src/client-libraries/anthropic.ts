import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import * as shared from './library.ts'

const open = ({ origin, key }: shared.Endpoint) => new Anthropic({ baseURL: origin, apiKey: key, maxRetries: 0 })

const body = (content: string) => ({ max_tokens: 2000, messages: [{ role: 'user' as const, content }] })

const textOf = (content: readonly { type: string; text?: string }[]) => content.map(({ text = '' }) => text).join('')

const messages: shared.ClientLibrary = {
  name: '@anthropic-ai/sdk',
  models: [shared.models.anthropic],
  keepsReasoning: [shared.models.anthropic],
  async ask(endpoint, model) {
    return textOf((await open(endpoint).messages.create({ model, ...body(shared.question) })).content)
  },
  async stream(endpoint, model) {
    let text = ''
    await open(endpoint)
      .messages.stream({ model, ...body(shared.question) })
      .on('text', delta => {
        text += delta
      })
      .finalMessage()
    return text
  },
  async loop(endpoint, model, streams) {
    const tools = [
      betaZodTool({ name: 'add', description: shared.description, inputSchema: shared.addition, run: shared.add }),
    ]
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
    // With a thread, which the library begins by itself, the provider would keep the conversation.
    const parameters = { model, ...body(shared.task), tools, thinking, stream: streams, thread: false as const }
    const runner = open(endpoint).beta.messages.toolRunner(parameters)
    return textOf((await runner.runUntilDone()).content)
  },
  async structured(endpoint, model) {
    const output_config = { format: zodOutputFormat(shared.place) }
    return (await open(endpoint).messages.parse({ model, ...body(shared.question), output_config })).parsed_output
  },
}

export const anthropicLibraries = [messages]
