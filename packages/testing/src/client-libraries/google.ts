import { type Content, GoogleGenAI } from '@google/genai'
import * as shared from './library.ts'

const library = (version?: 'v1beta'): shared.ClientLibrary => {
  const open = ({ origin, key }: shared.Endpoint) =>
    new GoogleGenAI({ apiKey: key, ...(version && { apiVersion: version }), httpOptions: { baseUrl: origin } }).models
  return {
    name: `@google/genai, ${version ?? 'its own version of the API'}`,
    models: [shared.models.google],
    keepsReasoning: [shared.models.google],
    async ask(endpoint, model) {
      return (await open(endpoint).generateContent({ model, contents: shared.question })).text ?? ''
    },
    async stream(endpoint, model) {
      let text = ''
      const stream = await open(endpoint).generateContentStream({ model, contents: shared.question })
      for await (const part of stream) text += part.text ?? ''
      return text
    },
    async loop(endpoint, model, streams) {
      const contents: Content[] = [{ role: 'user', parts: [{ text: shared.task }] }]
      const functionDeclarations = [
        { name: 'add', description: shared.description, parametersJsonSchema: shared.additionSchema },
      ]
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
          functionResponse: { name, response: { output: shared.add(args as shared.Addition) } },
        }))
        contents.push({ role: 'user', parts: results })
      }
    },
    async structured(endpoint, model) {
      const config = { responseMimeType: 'application/json', responseJsonSchema: shared.placeSchema }
      const { text = '' } = await open(endpoint).generateContent({ model, contents: shared.question, config })
      return JSON.parse(text)
    },
  }
}

export const googleLibraries = [library(), library('v1beta')]
