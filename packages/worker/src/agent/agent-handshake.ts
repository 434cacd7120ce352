import type { ServerTemplate } from '@berth/core/environments/extensions/server-template.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import type { Outcome } from '@berth/core/sessions/runs/run.ts'
import { type AgentMessage, asIdentifier, asObject, asText, isOverlong, MAX_IDENTIFIER_BYTES } from './acp-message.ts'
import { wireIds } from './acp-orders.ts'
import { leftOut, type McpTransport, speaks, transportsOf } from './mcp-servers.ts'

/** The known state of a lease's agent process; committed together with the journal's offset. */
export interface AgentFacts {
  /** Number of agent processes that the lease has had. */
  readonly generation: number
  /** `loaded`: it has loaded a conversation and may still be repeating it. */
  readonly state: 'none' | 'started' | 'initialized' | 'loaded' | 'ready' | 'exited'
  readonly loadsSessions: boolean
  /** Transports of MCP servers that it speaks besides stdio. */
  readonly mcp: readonly McpTransport[]
  readonly sessionId: string | null
  /** Key of the prompt that the agent has not answered yet. */
  readonly activePrompt: string | null
}

/** How the agent's part of an attempt ended. */
export type AgentEnd =
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  /** `started`: it had answered until it could take a prompt. */
  | { readonly kind: 'exited'; readonly signal: string | null; readonly started: boolean }
  /** `resuming`: the agent refused to load the conversation that it was to continue. */
  | { readonly kind: 'unstartable'; readonly detail: string; readonly resuming: boolean }

/** What is known of the agent before it speaks. */
export interface Handshake {
  /** It is Berth's own agent: one that refuses to load a conversation counts as one that loads none. */
  readonly isOwn: boolean
  /** The answer that a conversation is loaded does not end its repetition. */
  readonly repeatsLate: boolean
  /** MCP servers of the lease's extensions. */
  readonly servers: readonly ServerTemplate[]
}

/** What an answer of the agent changes. */
interface HandshakeStep {
  readonly facts?: Partial<AgentFacts>
  readonly end?: AgentEnd
  readonly drafts?: readonly EventDraft[]
}

/** Returns what an answer changes while the agent starts; null if it answers no step of its start. */
export function afterHandshake(
  { state }: AgentFacts,
  { id, result, error }: Extract<AgentMessage, { kind: 'response' }>,
  { isOwn, repeatsLate, servers }: Handshake,
): HandshakeStep | null {
  if (id === wireIds.initialize && state === 'started') {
    const capabilities = asObject(result?.['agentCapabilities'])
    const mcp = transportsOf(capabilities?.['mcpCapabilities'])
    return {
      facts: { state: 'initialized', loadsSessions: capabilities?.['loadSession'] === true, mcp },
      ...((error !== null || result === null) && { end: refusal('initialize', error) }),
      drafts: servers.filter(({ kind }) => !speaks(mcp, kind)).map(({ name, kind }) => leftOut(name, kind)),
    }
  }
  if (id === wireIds.newSession && state === 'initialized') {
    const sessionId = asIdentifier(result?.['sessionId'])
    const failed = error !== null || sessionId === undefined
    return failed
      ? { end: refusal('session/new', error ?? unusable(result)) }
      : { facts: { state: 'ready', sessionId } }
  }
  if (id === wireIds.loadSession && state === 'initialized') {
    if (error === null) return { facts: { state: repeatsLate ? 'loaded' : 'ready' } }
    return isOwn ? { facts: { loadsSessions: false } } : { end: refusal('session/load', error) }
  }
  return id === wireIds.barrier && state === 'loaded' ? { facts: { state: 'ready' } } : null
}

const refusal = (method: string, error: Readonly<Record<string, unknown>> | null): AgentEnd => ({
  kind: 'unstartable',
  detail: `${method}: ${asText(error?.['message']) ?? 'no usable answer'}`,
  resuming: method === 'session/load',
})

/** A session's id is sent back to the agent, so it can be neither cut nor replaced. */
const unusable = (result: Readonly<Record<string, unknown>> | null) =>
  isOverlong(result?.['sessionId']) ? { message: `its sessionId has more than ${MAX_IDENTIFIER_BYTES} bytes` } : null
