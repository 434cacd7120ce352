import { createHash } from 'node:crypto'
import type { ToolKind } from '@agentclientprotocol/sdk'
import { defineTool, type ToolDefinition } from '@earendil-works/pi-coding-agent'
import { asObject } from '../json.ts'
import { inputSchemaOf } from './input-schema.ts'
import type { Server } from './server.ts'
import { resultOf } from './tool-result.ts'

/** Bounds for all servers together: providers accept 128 tools in all, and every request carries their descriptions. */
const MAX_TOOLS = 100
const MAX_TOTAL_BYTES = 128 * 1024
const MAX_DESCRIPTION = 2048
/** Longest tool name that every provider accepts. */
const MAX_NAME = 64

/** A server's tool, as the model and people see it. */
export interface ServerTool {
  readonly definition: ToolDefinition
  readonly title: string
  readonly kind: ToolKind
  /** The server's own claim that the tool changes nothing. */
  readonly readOnly: boolean
}

/** The tools that the servers offer, and by server the names of those left out. */
export interface Offer {
  readonly tools: readonly ServerTool[]
  readonly leftOut: ReadonlyMap<string, readonly string[]>
}

/** Returns the connected servers' tools, in order, up to the bounds. */
export function offerOf(servers: readonly Server[]): Offer {
  const tools: ServerTool[] = []
  const leftOut = new Map<string, string[]>()
  const taken = new Set<string>()
  let bytes = 0
  for (const server of servers) {
    for (const listed of server.connection?.tools ?? []) {
      const tool = toolOf(server, listed, taken)
      const size = tool === null ? 0 : JSON.stringify([tool.definition.description, tool.definition.parameters]).length
      if (tool === null || tools.length >= MAX_TOOLS || bytes + size > MAX_TOTAL_BYTES) {
        const names = leftOut.get(server.config.name) ?? []
        leftOut.set(server.config.name, [...names, nameIn(listed)])
        continue
      }
      taken.add(tool.definition.name)
      bytes += size
      tools.push(tool)
    }
  }
  return { tools, leftOut }
}

/** @returns null if the tool cannot be offered to a model */
function toolOf(server: Server, listed: unknown, taken: ReadonlySet<string>): ServerTool | null {
  const { name, title, description, inputSchema, annotations } = asObject(listed)
  const parameters = inputSchemaOf(inputSchema)
  if (typeof name !== 'string' || name === '' || parameters === null) return null
  const hints = asObject(annotations)
  const shown = [title, hints['title'], name].find(text => typeof text === 'string' && text !== '')
  const known = nameFor(server.config.name, name, taken)
  if (taken.has(known)) return null
  return {
    title: `${server.config.name}: ${shown}`,
    readOnly: hints['readOnlyHint'] === true,
    kind: hints['readOnlyHint'] !== true ? 'other' : hints['openWorldHint'] === true ? 'fetch' : 'read',
    definition: defineTool({
      name: known,
      label: known,
      description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION) : '',
      parameters,
      execute: (_toolCallId, args, signal) => call(server, { name, inputSchema }, args, signal),
    }),
  }
}

async function call(
  server: Server,
  tool: { readonly name: string; readonly inputSchema: unknown },
  args: unknown,
  signal: AbortSignal | undefined,
) {
  const fault = (reason: string) => new Error(`MCP server ${server.config.name}: ${server.tellable(reason)}`)
  const { connection } = server
  if (connection === null) throw fault(server.trouble ?? 'is not connected')
  const answer = await connection.call(tool, asObject(args), signal).catch((error: Error) => {
    signal?.throwIfAborted()
    throw fault(error.message)
  })
  return resultOf(answer)
}

/** Returns `mcp__server__tool` in characters that providers accept; a name that is too long or taken gets a hash. */
function nameFor(server: string, tool: string, taken: ReadonlySet<string>): string {
  const plain = `mcp__${safe(server)}__${safe(tool)}`
  if (plain.length <= MAX_NAME && !taken.has(plain)) return plain
  const mark = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, 8)
  return `${plain.slice(0, MAX_NAME - mark.length - 1)}_${mark}`
}

const safe = (text: string): string => text.replaceAll(/[^a-zA-Z0-9_-]+/g, '_')

function nameIn(listed: unknown): string {
  const { name } = asObject(listed)
  return typeof name === 'string' && name !== '' ? name.slice(0, MAX_NAME) : '(no name)'
}
