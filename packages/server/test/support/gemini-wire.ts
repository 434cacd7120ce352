import type { ModelReply, ModelRequest, WireFormat } from './model-server.ts'

/** A part of a turn, as far as tests read it. */
export interface GeminiPart {
  readonly text?: string
  readonly functionCall?: { readonly name: string; readonly args?: unknown }
  readonly functionResponse?: { readonly name: string; readonly response: unknown }
}

/** A `generateContent` request, as far as tests read it. */
export interface GeminiRequest {
  readonly contents: readonly { readonly role: string; readonly parts: readonly GeminiPart[] }[]
}

/** The conversation that a request carries. */
export function geminiContents(request: ModelRequest | undefined): GeminiRequest['contents'] {
  return (request?.body as GeminiRequest | undefined)?.contents ?? []
}

/** Google's `generateContent`, whole or as server-sent events. */
export const geminiWire: WireFormat = {
  asksForReply: ({ method, path }) =>
    method === 'POST' && /^\/v1(beta)?\/models\/[^/:]+:(stream)?generateContent(\?|$)/i.test(path),

  write(reply, { path }, response) {
    if (!path.includes(':streamGenerateContent')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chunk(partsOf(reply), 'STOP')))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const parts = partsOf(reply)
    for (const part of parts) response.write(event(chunk([part])))
    // The reason and the usage come with the last chunk, whose own text is empty.
    response.end(event(chunk([{ text: '' }], 'STOP')))
  },
}

/** Text in two halves, as a stream brings it. */
function partsOf({ text = '', calls = [] }: ModelReply): GeminiPart[] {
  const middle = Math.ceil(text.length / 2)
  const halves = [text.slice(0, middle), text.slice(middle)].filter(half => half !== '')
  return [...halves.map(half => ({ text: half })), ...calls.map(call => ({ functionCall: call }))]
}

function chunk(parts: readonly GeminiPart[], finishReason?: string): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
    ...(finishReason !== undefined && {
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
    }),
    modelVersion: 'scripted',
  }
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\r\n\r\n`
