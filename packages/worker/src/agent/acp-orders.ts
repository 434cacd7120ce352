import { AGENT_METHODS, type McpServer, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'
import { releaseVersion } from '@berth/platform/kit/version.ts'

/**
 * Ids of Berth's requests to an agent. Each id follows from the request, not from a counter of the connection, so a
 * worker that re-attaches recognises the answers to its predecessor's requests. They are integers because older agents
 * read no other ids.
 */
export const wireIds = {
  initialize: 1,
  newSession: 2,
  loadSession: 3,
  barrier: 4,
  rehearse: 5,
  prompt: (turnSequence: number, attempt: number) => 1000 + turnSequence * 1000 + attempt,
} as const

/** One line for the agent, with its idempotency key. */
export interface Order {
  readonly key: string
  readonly line: string
}

const request = (id: number | string, method: string, params: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

/**
 * The first request to a new agent process. Files and terminals belong to the sandbox, so Berth offers none from
 * outside. Questions to people are offered as forms.
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
      clientInfo: { name: 'berth', version: releaseVersion },
    }),
  }
}

/**
 * Asks the built-in agent, before there is a session, to hold a conversation with itself: its first prompt is then as quick as its
 * second.
 */
export const rehearsal = (): string => request(wireIds.rehearse, '_berth/rehearse', {})

/** A new session has a key of its own, since it may follow the refusal to load an earlier one. */
export function openSession(
  generation: number,
  cwd: string,
  earlier: string | null,
  mcpServers: readonly McpServer[],
): Order {
  const key = `session/${generation}`
  if (earlier === null) {
    return {
      key: `${key}/new`,
      line: request(wireIds.newSession, AGENT_METHODS.session_new, { cwd, mcpServers }),
    }
  }
  return {
    key,
    line: request(wireIds.loadSession, AGENT_METHODS.session_load, { sessionId: earlier, cwd, mcpServers }),
  }
}

/**
 * A request that every agent answers with a refusal. An agent that repeats a loaded conversation late has written all
 * of it before it reads this, so whatever follows the answer is new.
 */
export function barrier(generation: number): Order {
  return { key: `barrier/${generation}`, line: request(wireIds.barrier, '_berth/barrier', {}) }
}

export interface PromptOf {
  readonly runId: string
  readonly attempt: number
  readonly turnSequence: number
}

/** The prefix of all keys of an attempt's prompt, for any agent process. */
export const promptKeyOf = ({ runId, attempt }: PromptOf): string => `prompt/${runId}/${attempt}/`

/**
 * Places feedback on a plan as the next prompt of the same attempt; its key names the newest request that it answers.
 */
export const feedbackPlace = (generation: number, offset: number): string => `${generation}/feedback/${offset}`

/**
 * Places the prompt that asks once more for an output as the next one of the same attempt; its key keeps which requests
 * were answered before.
 */
export const outputPlace = (generation: number, until: number): string => `${generation}/output/${until}`

/**
 * Places the prompt after a question about a budget as the next one of the same attempt; its key names the question, and
 * keeps which requests were answered before.
 */
export const budgetPlace = (generation: number, until: number, question: number): string =>
  `${generation}/budget/${until}/${-question}`

const furtherKey = /\/(feedback|output|budget)\/(-?\d+)(?:\/(\d+))?$/

/** Returns the offset of the question about a budget after which a prompt goes on, by its key; null for other prompts. */
export const budgetQuestionOf = (key: string | null): number | null => {
  const question = furtherKey.exec(key ?? '')?.[3]
  return question === undefined ? null : -Number(question)
}

/** Returns the offset of the newest request that a prompt answers, by its key; -1 for an attempt's first prompt. */
export const feedbackUntil = (key: string | null): number => Number(furtherKey.exec(key ?? '')?.[2] ?? -1)

/** Returns true for the key of a prompt that follows another one of the same attempt. */
export const isFurther = (key: string): boolean => furtherKey.test(key)

/** Returns true for the key of an attempt's prompt that asks once more for an output. */
export const asksForOutput = (of: PromptOf, key: string): boolean =>
  key.startsWith(promptKeyOf(of)) && furtherKey.exec(key)?.[1] === 'output'

/** A prompt that the journal holds after its agent's end reached nobody; the next process gets it under its own key. */
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

const steerId = /^steer\/([0-9a-f-]{36})$/

/** Returns the Turn of which the agent says whether it has taken it, by the id of the answer; null for any other id. */
export const steeredTurn = (id: number | string): string | null =>
  typeof id === 'string' ? (steerId.exec(id)?.[1] ?? null) : null

/**
 * Gives a message to the agent at work, which answers once its conversation has it, or once its prompt has ended without.
 * The id is that of the Turn, by which the agent knows a message that its conversation already has.
 */
export function steer(
  of: PromptOf,
  generation: number,
  {
    sessionId,
    turnId,
    turnSequence,
    blocks,
  }: { sessionId: string; turnId: string; turnSequence: number; blocks: readonly object[] },
): Order {
  return {
    key: `steer/${of.runId}/${of.attempt}/${generation}/${turnSequence}`,
    line: request(`steer/${turnId}`, '_berth/steer', { sessionId, id: turnId, prompt: blocks }),
  }
}

export function cancelPrompt(of: PromptOf, sessionId: string): Order {
  const message = { jsonrpc: '2.0', method: AGENT_METHODS.session_cancel, params: { sessionId } }
  return { key: `cancel/${of.runId}/${of.attempt}`, line: JSON.stringify(message) }
}

/** Keys a reply by its request's offset in the journal, because an agent may reuse an id. */
export const replyKey = (offset: number): string => `reply/${offset}`

export function reply(offset: number, id: number | string, result: object): Order {
  return { key: replyKey(offset), line: JSON.stringify({ jsonrpc: '2.0', id, result }) }
}

export function refuse(offset: number, id: number | string, code: number, message: string): Order {
  return { key: replyKey(offset), line: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }) }
}
