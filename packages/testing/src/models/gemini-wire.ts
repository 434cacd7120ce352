import type { ModelReply, ModelRequest, WireFormat } from './model-server.ts'

interface Part {
  readonly text?: string
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly functionCall?: { readonly name: string; readonly args?: unknown }
  readonly functionResponse?: { readonly name: string; readonly response: unknown }
}

interface Body {
  readonly contents: readonly { readonly role: string; readonly parts: readonly Part[] }[]
}

/** Returns the conversation in a request, one line for each part, without Gemini CLI's description of the machine. */
export function geminiTranscript(request: ModelRequest | undefined): string[] {
  const { contents } = (request?.body ?? { contents: [] }) as Body
  return contents.flatMap(({ role, parts }) =>
    parts.flatMap(({ text, functionCall, functionResponse }) => {
      if (functionCall) return [`${role} calls ${functionCall.name}`]
      if (functionResponse) return [`${role} answers ${functionResponse.name}`]
      return text === undefined || text.startsWith('<session_context>') ? [] : [`${role}: ${text}`]
    }),
  )
}

/** Google's `generateContent`, complete or as server-sent events. */
export const geminiWire: WireFormat = {
  asksForReply: ({ method, path }) =>
    method === 'POST' && /^\/v1(beta)?\/models\/[^/:]+:(generateContent|streamGenerateContent)(\?|$)/.test(path),

  write(reply, { path }, response) {
    const parts = partsOf(reply)
    if (!path.includes(':streamGenerateContent')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(lastChunk(parts, reply)))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const frame of geminiFrames(reply)) response.write(frame)
    response.end()
  },
}

/** A streamed reply, one event per frame. */
export const geminiFrames = (reply: ModelReply): string[] => [
  ...partsOf(reply).map(part => event(chunk([part]))),
  event(lastChunk([{ text: '' }], reply)),
]

/** Splits text in two halves, so that clients have to join them. */
function partsOf({ text = '', calls = [], thinking }: ModelReply): Part[] {
  const middle = Math.ceil(text.length / 2)
  const halves = [text.slice(0, middle), text.slice(middle)].filter(half => half !== '')
  const signed = thinking && { thoughtSignature: thinking.signature }
  return [
    ...(thinking ? [{ text: thinking.text, thought: true }] : []),
    ...halves.map(half => ({ text: half })),
    ...calls.map((call, index) => ({ functionCall: call, ...(index === 0 && signed) })),
  ]
}

function chunk(parts: readonly Part[]) {
  return { candidates: [{ index: 0, content: { role: 'model', parts } }], modelVersion: 'scripted' }
}

/** The last chunk also holds the stop reason and the usage. */
function lastChunk(parts: readonly Part[], { cut }: ModelReply) {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: cut ? 'MAX_TOKENS' : 'STOP' }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
    modelVersion: 'scripted',
  }
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\r\n\r\n`
