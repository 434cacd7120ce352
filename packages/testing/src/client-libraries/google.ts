import { type Content, GoogleGenAI } from '@google/genai'
import {
  type Addition,
  add,
  additionSchema,
  type ClientLibrary,
  description,
  type Endpoint,
  models,
  placeSchema,
  question,
  task,
} from './library.ts'

const library = (version?: 'v1beta'): ClientLibrary => {
  const open = ({ origin, key }: Endpoint) =>
    new GoogleGenAI({ apiKey: key, ...(version && { apiVersion: version }), httpOptions: { baseUrl: origin } }).models
  return {
    name: `@google/genai, ${version ?? 'its own version of the API'}`,
    models: [models.google],
    keepsReasoning: [models.google],
    async ask(endpoint, model) {
      return (await open(endpoint).generateContent({ model, contents: question })).text ?? ''
    },
    async stream(endpoint, model) {
      let text = ''
      const stream = await open(endpoint).generateContentStream({ model, contents: question })
      for await (const part of stream) text += part.text ?? ''
      return text
    },
    async loop(endpoint, model, streams) {
      const contents: Content[] = [{ role: 'user', parts: [{ text: task }] }]
      const functionDeclarations = [{ name: 'add', description, parametersJsonSchema: additionSchema }]
      const input = { model, config: { tools: [{ functionDeclarations }], thinkingConfig: { includeThoughts: true } } }
      for (;;) {
        const answers = streams
          ? await Array.fromAsync(await open(endpoint).generateContentStream({ ...input, contents }))
          : [await open(endpoint).generateContent({ ...input, contents })]
        const parts = answers.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
        const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
        if (calls.length === 0) return parts.map(({ text = '' }) => text).join('')
        contents.push({ role: 'model', parts })
        const results = calls.map(({ name = '', args }) => ({
          functionResponse: { name, response: { output: add(args as Addition) } },
        }))
        contents.push({ role: 'user', parts: results })
      }
    },
    async structured(endpoint, model) {
      const config = { responseMimeType: 'application/json', responseJsonSchema: placeSchema }
      const { text = '' } = await open(endpoint).generateContent({ model, contents: question, config })
      return JSON.parse(text)
    },
  }
}

export const googleLibraries = [library(), library('v1beta')]
