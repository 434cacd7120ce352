import { anthropicWire } from '../models/anthropic-wire.ts'
import { geminiWire } from '../models/gemini-wire.ts'
import type { ModelReply, ModelRequest, WireFormat } from '../models/model-server.ts'
import { openaiWire } from '../models/openai-wire.ts'
import type { Behaviour } from '../models/scripted-upstream.ts'
import { task } from './library.ts'

export const answer = { text: 'Hello there', place: { city: 'Oslo', degrees: 4 } } as const

/** The signature of the reasoning before calls, as Anthropic and Google send it. */
export const signature = 'c2lnbmVkLXJlYXNvbmluZw=='

const wires: readonly WireFormat[] = [openaiWire, anthropicWire, geminiWire]

/**
 * A model that answers each request by its own content, in whatever format it comes. It calls `add` twice at once, and
 * answers with the results; it answers a schema, or a tool that it must call, with a place.
 */
export const scriptedModel: Behaviour = (request, response) => {
  const wire = wires.find(candidate => candidate.asksForReply(request))
  if (wire === undefined) {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"no such path"}}')
    return
  }
  wire.write(replyTo(request), request, response)
}

function replyTo({ body }: ModelRequest): ModelReply {
  const text = JSON.stringify(body)
  const forced = forcedTool(body)
  if (forced !== null) return { calls: [{ name: forced, args: answer.place }] }
  if (/"(?:json_schema|responseSchema|responseJsonSchema|responseFormat)"/.test(text)) {
    return { text: JSON.stringify(answer.place) }
  }
  const sums = [...new Set(text.match(/sum-\d+/g) ?? [])]
  if (sums.length > 0) return { text: `The sums: ${sums.join(' ')}` }
  if (!text.includes(task)) return { text: answer.text }
  return {
    thinking: { text: 'Two sums.', signature },
    text: 'Let me add.',
    calls: [
      { name: 'add', args: { a: 1, b: 2 } },
      { name: 'add', args: { a: 3, b: 4 } },
    ],
  }
}

/** Returns the name of the tool that a request makes the model call; null if it is free to answer. */
function forcedTool(body: unknown): string | null {
  const { tool_choice, toolConfig, tools } = body as {
    tool_choice?: { type?: string; name?: string; function?: { name?: string } } | string
    toolConfig?: { functionCallingConfig?: { mode?: string; allowedFunctionNames?: readonly string[] } }
    tools?: readonly { name?: string; function?: { name?: string } }[]
  }
  if (tool_choice === 'required' || (typeof tool_choice === 'object' && tool_choice.type === 'any')) {
    return tools?.[0]?.name ?? tools?.[0]?.function?.name ?? null
  }
  if (typeof tool_choice === 'object') return tool_choice.name ?? tool_choice.function?.name ?? null
  const calling = toolConfig?.functionCallingConfig
  return calling?.mode === 'ANY' ? (calling.allowedFunctionNames?.[0] ?? null) : null
}
