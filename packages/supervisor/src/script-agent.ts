import { randomUUID } from 'node:crypto'
import {
  type AgentApp,
  type AgentContext,
  agent,
  type ContentBlock,
  methods,
  PROTOCOL_VERSION,
  type PromptResponse,
  RequestError,
  type SessionId,
} from '@agentclientprotocol/sdk'

interface Session {
  readonly cwd: string
  /** Ends the running prompt. */
  running?: AbortController
}

/** A prompt under way: whose steps it reports to whom. */
export interface ScriptTurn {
  readonly client: AgentContext
  readonly sessionId: SessionId
  readonly prompt: readonly ContentBlock[]
  readonly cwd: string
  readonly signal: AbortSignal
}

/**
 * Returns an ACP agent without a model. It keeps only the working directory between prompts, so any session can be loaded.
 * @param work does one prompt; a session has one at a time
 */
export function scriptAgent(
  name: string,
  version: string,
  work: (turn: ScriptTurn) => Promise<PromptResponse>,
): AgentApp {
  const sessions = new Map<SessionId, Session>()
  return agent({ name })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name, version },
      agentCapabilities: { loadSession: true },
    }))
    .onRequest(methods.agent.session.new, ({ params }) => {
      const sessionId = randomUUID()
      sessions.set(sessionId, { cwd: params.cwd })
      return { sessionId }
    })
    .onRequest(methods.agent.session.load, ({ params }) => {
      sessions.set(params.sessionId, { cwd: params.cwd })
      return {}
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      sessions.get(params.sessionId)?.running?.abort()
    })
    .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client, signal }) => {
      const session = sessions.get(sessionId)
      if (!session) throw RequestError.resourceNotFound(sessionId)
      if (session.running) throw RequestError.invalidRequest(undefined, 'a script is running in this session')
      const running = new AbortController()
      session.running = running
      try {
        const stop = AbortSignal.any([running.signal, signal])
        return await work({ client, sessionId, prompt, cwd: session.cwd, signal: stop })
      } finally {
        delete session.running
      }
    })
}
