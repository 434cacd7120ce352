import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import * as shared from './library.ts'

const open = ({ origin, key }: shared.Endpoint) => new OpenAI({ baseURL: `${origin}/v1`, apiKey: key, maxRetries: 0 })

const user = (content: string) => [{ role: 'user' as const, content }]

const chat: shared.ClientLibrary = {
  name: 'openai, Chat Completions',
  models: shared.everyModel,
  // The library sends only the documented members of a call.
  keepsReasoning: [],
  async ask(endpoint, model) {
    const { choices } = await open(endpoint).chat.completions.create({ model, messages: user(shared.question) })
    return choices[0]?.message.content ?? ''
  },
  async stream(endpoint, model) {
    const stream = open(endpoint).chat.completions.stream({ model, messages: user(shared.question) })
    let text = ''
    stream.on('content', delta => {
      text += delta
    })
    await stream.done()
    return text
  },
  async loop(endpoint, model, streams) {
    const { completions } = open(endpoint).chat
    const body = {
      model,
      messages: user(shared.task),
      reasoning_effort: 'high' as const,
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'add',
            description: shared.description,
            parameters: shared.additionSchema,
            parse: (text: string) => JSON.parse(text) as shared.Addition,
            function: shared.add,
          },
        },
      ],
    }
    const runner = streams ? completions.runTools({ ...body, stream: true }) : completions.runTools(body)
    return (await runner.finalContent()) ?? ''
  },
  async structured(endpoint, model) {
    const response_format = zodResponseFormat(shared.place, 'place')
    const { choices } = await open(endpoint).chat.completions.parse({
      model,
      messages: user(shared.question),
      response_format,
    })
    return choices[0]?.message.parsed
  },
}

const responses: shared.ClientLibrary = {
  name: 'openai, Responses',
  models: shared.everyModel,
  keepsReasoning: [shared.models.anthropic, shared.models.google],
  async ask(endpoint, model) {
    return (await open(endpoint).responses.create({ model, input: shared.question })).output_text
  },
  async stream(endpoint, model) {
    let text = ''
    const stream = open(endpoint).responses.stream({ model, input: shared.question })
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
    return text
  },
  async loop(endpoint, model, streams) {
    const client = open(endpoint)
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: shared.task }]
    const body = {
      model,
      store: false,
      include: ['reasoning.encrypted_content' as const],
      reasoning: { effort: 'high' as const, summary: 'auto' as const },
      tools: [
        {
          type: 'function' as const,
          name: 'add',
          description: shared.description,
          parameters: shared.additionSchema,
          strict: true,
        },
      ],
    }
    for (;;) {
      const { output, output_text }: OpenAI.Responses.Response = streams
        ? await client.responses.stream({ ...body, input }).finalResponse()
        : await client.responses.create({ ...body, input })
      const calls = output.filter(item => item.type === 'function_call')
      if (calls.length === 0) return output_text
      input.push(...(output as OpenAI.Responses.ResponseInput))
      for (const { call_id, arguments: args } of calls) {
        input.push({ type: 'function_call_output', call_id, output: shared.add(JSON.parse(args) as shared.Addition) })
      }
    }
  },
  async structured(endpoint, model) {
    const text = { format: zodTextFormat(shared.place, 'place') }
    return (await open(endpoint).responses.parse({ model, input: shared.question, text })).output_parsed
  },
}

export const openaiLibraries = [chat, responses]
