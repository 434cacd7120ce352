import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import {
  type Addition,
  add,
  additionSchema,
  type ClientLibrary,
  description,
  type Endpoint,
  everyModel,
  models,
  place,
  question,
  task,
} from './library.ts'

const open = ({ origin, key }: Endpoint) => new OpenAI({ baseURL: `${origin}/v1`, apiKey: key, maxRetries: 0 })

const user = (content: string) => [{ role: 'user' as const, content }]

const chat: ClientLibrary = {
  name: 'openai, Chat Completions',
  models: everyModel,
  // The library sends only the documented members of a call.
  keepsReasoning: [],
  async ask(endpoint, model) {
    const { choices } = await open(endpoint).chat.completions.create({ model, messages: user(question) })
    return choices[0]?.message.content ?? ''
  },
  async stream(endpoint, model) {
    const stream = open(endpoint).chat.completions.stream({ model, messages: user(question) })
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
      messages: user(task),
      reasoning_effort: 'high' as const,
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'add',
            description,
            parameters: additionSchema,
            parse: (text: string) => JSON.parse(text) as Addition,
            function: add,
          },
        },
      ],
    }
    const runner = streams ? completions.runTools({ ...body, stream: true }) : completions.runTools(body)
    return (await runner.finalContent()) ?? ''
  },
  async structured(endpoint, model) {
    const response_format = zodResponseFormat(place, 'place')
    const { choices } = await open(endpoint).chat.completions.parse({
      model,
      messages: user(question),
      response_format,
    })
    return choices[0]?.message.parsed
  },
}

const responses: ClientLibrary = {
  name: 'openai, Responses',
  models: everyModel,
  keepsReasoning: [models.anthropic, models.google],
  async ask(endpoint, model) {
    return (await open(endpoint).responses.create({ model, input: question })).output_text
  },
  async stream(endpoint, model) {
    let text = ''
    const stream = open(endpoint).responses.stream({ model, input: question })
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
    return text
  },
  async loop(endpoint, model, streams) {
    const client = open(endpoint)
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: task }]
    const body = {
      model,
      store: false,
      include: ['reasoning.encrypted_content' as const],
      reasoning: { effort: 'high' as const, summary: 'auto' as const },
      tools: [{ type: 'function' as const, name: 'add', description, parameters: additionSchema, strict: true }],
    }
    for (;;) {
      const { output, output_text }: OpenAI.Responses.Response = streams
        ? await client.responses.stream({ ...body, input }).finalResponse()
        : await client.responses.create({ ...body, input })
      const calls = output.filter(item => item.type === 'function_call')
      if (calls.length === 0) return output_text
      input.push(...(output as OpenAI.Responses.ResponseInput))
      for (const { call_id, arguments: args } of calls) {
        input.push({ type: 'function_call_output', call_id, output: add(JSON.parse(args) as Addition) })
      }
    }
  },
  async structured(endpoint, model) {
    const text = { format: zodTextFormat(place, 'place') }
    return (await open(endpoint).responses.parse({ model, input: question, text })).output_parsed
  },
}

export const openaiLibraries = [chat, responses]
