import { randomUUID } from 'node:crypto'
import {
  type AgentApp,
  agent,
  type ClientCapabilities,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk'
import type { Environment } from './environment.ts'
import { readSteer } from './protocol/steer.ts'
import type { EngineSession } from './session/engine-session.ts'

/** The engine as an ACP agent, with a way to stop everything it runs. */
export interface EngineAgent {
  readonly app: AgentApp
  stop(): Promise<void>
}

/**
 * Returns Berth's own coding agent. Everything but the protocol loads after `initialize` is answered, because loading
 * is the slowest part of the start and the client needs that time to prepare its next request anyway.
 */
export function engineAgent(version: string, environment: Environment): EngineAgent {
  const sessions = new Map<string, EngineSession>()
  let capabilities: ClientCapabilities = {}
  const loaded = () => import('./session/loaded-late.ts')
  const app = agent({ name: 'berth' })
    .onRequest(methods.agent.initialize, ({ params }) => {
      capabilities = params.clientCapabilities ?? {}
      setImmediate(() => void loaded())
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: 'berth', title: 'Berth', version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          mcpCapabilities: { http: true, sse: true },
        },
      }
    })
    .onRequest(
      '_berth/rehearse',
      () => null,
      async () => {
        const { rehearse } = await loaded()
        await rehearse(environment)
        return {}
      },
    )
    .onRequest(methods.agent.session.new, async ({ params, client }) => {
      const { EngineSession } = await loaded()
      const id = randomUUID()
      const { cwd, mcpServers } = params
      // The process may have been started before anybody knew where it would work.
      process.chdir(cwd)
      sessions.set(id, EngineSession.create({ id, cwd, mcpServers, client, capabilities, environment }))
      return { sessionId: id }
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      const { EngineSession } = await loaded()
      const { sessionId: id, cwd, mcpServers } = params
      process.chdir(cwd)
      await sessions.get(id)?.close()
      const session = EngineSession.load({ id, cwd, mcpServers, client, capabilities, environment })
      if (session === null) throw RequestError.resourceNotFound(id)
      sessions.set(id, session)
      await session.reported
      return {}
    })
    .onRequest('_berth/steer', readSteer, async ({ params: { sessionId, id, prompt } }) => {
      const session = sessions.get(sessionId)
      return { taken: session !== undefined && (await session.steer(id, prompt)) }
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancel())
    .onRequest(methods.agent.session.prompt, async ({ params, signal }) => {
      const session = sessions.get(params.sessionId)
      if (session === undefined) throw RequestError.resourceNotFound(params.sessionId)
      if (session.busy)
        throw RequestError.invalidRequest(
          undefined,
          'this session is still working on another prompt; cancel it or wait',
        )
      const cancel = () => session.cancel()
      signal.addEventListener('abort', cancel, { once: true })
      try {
        return await session.prompt(params)
      } finally {
        signal.removeEventListener('abort', cancel)
      }
    })
  return {
    app,
    async stop() {
      await Promise.all([...sessions.values()].map(session => session.close()))
    },
  }
}
