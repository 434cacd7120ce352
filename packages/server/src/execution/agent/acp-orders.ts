import { AGENT_METHODS, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'

/**
 * Wire ids of our requests to an agent. They are a function of what is asked, not a counter of a connection: a worker
 * that re-attaches recognises the answer to what its predecessor asked. Integers, because older agents read no others.
 */
export const wireIds = {
  initialize: 1,
  newSession: 2,
  loadSession: 3,
  prompt: (turnSequence: number, attempt: number) => 1000 + turnSequence * 1000 + attempt,
} as const

/** A line for the agent under its idempotency key. */
export interface Order {
  readonly key: string
  readonly line: string
}

const request = (id: number, method: string, params: unknown) => JSON.stringify({ jsonrpc: '2.0', id, method, params })

/**
 * First request to a new agent process. Files and terminals are the sandbox's, so none are offered from outside; people
 * are asked by forms.
 */
export function initialize(generation: number): Order {
  return {
    key: `initialize/${generation}`,
    line: request(wireIds.initialize, AGENT_METHODS.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        elicitation: { form: {} },
      },
      clientInfo: { name: 'berth', version: '1.0.0' },
    }),
  }
}

export function openSession(generation: number, cwd: string, earlier: string | null): Order {
  const key = `session/${generation}`
  if (earlier === null) {
    return { key, line: request(wireIds.newSession, AGENT_METHODS.session_new, { cwd, mcpServers: [] }) }
  }
  return {
    key,
    line: request(wireIds.loadSession, AGENT_METHODS.session_load, { sessionId: earlier, cwd, mcpServers: [] }),
  }
}

export interface PromptOf {
  readonly runId: string
  readonly attempt: number
  readonly turnSequence: number
}

/** What the keys of an attempt's prompt begin with, whichever agent process it was given to. */
export const promptKeyOf = ({ runId, attempt }: PromptOf): string => `prompt/${runId}/${attempt}/`

/** What was said to a plan, as the next prompt of the same attempt: its key names the newest request that it answers. */
export const feedbackPlace = (generation: number, offset: number): string => `${generation}/feedback/${offset}`

/** The newest request that a prompt answers, by its key; -1 where it is an attempt's first. */
export const feedbackUntil = (key: string | null): number => Number(/\/feedback\/(\d+)$/.exec(key ?? '')?.[1] ?? -1)

/** A prompt that the journal holds behind its agent's end reached nobody; the next process gets it under its own key. */
export function prompt(
  of: PromptOf,
  place: number | string,
  { sessionId, blocks, meta }: { sessionId: string; blocks: readonly object[]; meta: object },
): Order {
  return {
    key: `${promptKeyOf(of)}${place}`,
    line: request(wireIds.prompt(of.turnSequence, of.attempt), AGENT_METHODS.session_prompt, {
      sessionId,
      prompt: blocks,
      ...(Object.keys(meta).length > 0 && { _meta: { berth: meta } }),
    }),
  }
}

export function cancelPrompt(of: PromptOf, sessionId: string): Order {
  const message = { jsonrpc: '2.0', method: AGENT_METHODS.session_cancel, params: { sessionId } }
  return { key: `cancel/${of.runId}/${of.attempt}`, line: JSON.stringify(message) }
}

/** Keys an answer by where the request stands in the journal: an agent may use an id twice. */
export const replyKey = (offset: number): string => `reply/${offset}`

export function reply(offset: number, id: number | string, result: object): Order {
  return { key: replyKey(offset), line: JSON.stringify({ jsonrpc: '2.0', id, result }) }
}

export function refuse(offset: number, id: number | string, code: number, message: string): Order {
  return { key: replyKey(offset), line: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }) }
}
