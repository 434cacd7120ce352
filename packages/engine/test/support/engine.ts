import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  type ContentBlock,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  client,
  type McpServer,
  methods,
  type NewSessionResponse,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { spawn } from '../../../../script/testing/spawn.ts'
import { signalProcesses } from '../../src/tools/background/marked-processes.ts'
import { type ScriptedGateway, startScriptedGateway } from './scripted-gateway.ts'

/** The bundle that sandboxes run. */
const BUNDLE = fileURLToPath(new URL('../../../supervisor/dist/engine.cjs', import.meta.url))

/** An extension notification. */
export interface Reported {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The result of one prompt. */
export interface Turn {
  readonly acpReason: string
  readonly stopReason: string
  readonly errorCode: string | undefined
  readonly turns: number
  readonly updates: readonly SessionUpdate[]
  readonly reported: readonly Reported[]
}

export interface People {
  elicit(request: CreateElicitationRequest): Promise<CreateElicitationResponse>
  permit(request: RequestPermissionRequest): Promise<RequestPermissionResponse>
}

export interface Engine extends AsyncDisposable {
  readonly gateway: ScriptedGateway
  readonly workspace: string
  readonly home: string
  readonly sessionId: string
  readonly pid: number
  readonly updates: readonly SessionUpdate[]
  readonly reported: readonly Reported[]
  prompt(text: string, berth?: object, others?: readonly ContentBlock[]): Promise<Turn>
  /** Sends a message that is to join the prompt under way; says whether the conversation took it. */
  steer(id: string, text: string): Promise<boolean>
  /** Resolves when the engine has read everything sent before. */
  heard(): Promise<void>
  cancel(): Promise<void>
  /** Kills the process, as the end of a sandbox does, and loads the conversation in a new one. */
  restart(): Promise<void>
  kill(): Promise<void>
}

/** Starts a real engine over ACP, with its own workspace and home and a scripted gateway. */
export async function openEngine(
  options: {
    model?: object
    otherModels?: readonly object[]
    env?: Record<string, string>
    people?: Partial<People>
    mcpServers?: McpServer[]
    /** Called with the workspace and the home before the engine starts. */
    prepare?: (workspace: string, home: string) => void
  } = {},
): Promise<Engine> {
  const root = mkdtempSync(join(tmpdir(), 'berth-engine-'))
  const [workspace, home, programs] = ['workspace', 'home', 'programs'].map(name => join(root, name)) as [
    string,
    string,
    string,
  ]
  for (const directory of [workspace, home, programs]) mkdirSync(directory)
  options.prepare?.(workspace, home)
  const gateway = await startScriptedGateway(options.model, options.otherModels)
  const updates: SessionUpdate[] = []
  const reported: Reported[] = []
  const people: People = {
    elicit: async () => ({ action: 'cancel' }),
    permit: async () => ({ outcome: { outcome: 'cancelled' } }),
    ...options.people,
  }
  const env = {
    PATH: `${programs}:${dirname(process.execPath)}:${process.env['PATH']}`,
    HOME: home,
    BERTH_GATEWAY_URL: gateway.url,
    BERTH_ENGINE_RETRY_MS: '1',
    BERTH_ENGINE_MCP_WAIT_MS: '60000',
    ...options.env,
  }

  async function start(sessionId: string | null) {
    const child = spawn(process.execPath, [BUNDLE], { cwd: '/', env, stdio: ['pipe', 'pipe', 'pipe'] })
    let complaints = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      complaints = (complaints + text).slice(-4000)
    })
    const exit = once(child, 'exit')
    const { agent } = client({ name: 'test' })
      .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
      .onNotification(
        '_berth/event',
        params => params as Reported,
        ({ params }) => void reported.push(params),
      )
      .onRequest(methods.client.elicitation.create, ({ params }) => people.elicit(params))
      .onRequest(methods.client.session.requestPermission, ({ params }) => people.permit(params))
      .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>))
    const gone = exit.then(() => Promise.reject(new Error(`the engine ended: ${complaints}`)))
    gone.catch(() => undefined)
    const or = <T>(work: Promise<T>): Promise<T> => Promise.race([work, gone])
    const clientCapabilities = options.people?.elicit === undefined ? {} : { elicitation: { form: {} } }
    await or(agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities }))
    const opening = { cwd: workspace, mcpServers: options.mcpServers ?? [] }
    if (sessionId !== null) await or(agent.request(methods.agent.session.load, { sessionId, ...opening }))
    const id = sessionId ?? (await or<NewSessionResponse>(agent.request(methods.agent.session.new, opening))).sessionId
    const kill = async () => {
      child.kill('SIGKILL')
      await exit
    }
    return { agent, child, or, id, kill }
  }

  let running = await start(null)
  const { id: sessionId } = running
  return {
    gateway,
    workspace,
    home,
    sessionId,
    updates,
    reported,
    get pid() {
      return running.child.pid ?? 0
    },
    async prompt(text, berth = {}, others = []) {
      const [before, reportedBefore] = [updates.length, reported.length]
      const { agent, or } = running
      const request = {
        sessionId,
        prompt: [{ type: 'text' as const, text }, ...others],
        _meta: { berth: { model: 'main/m1', ...berth } },
      }
      const response = await or<PromptResponse>(agent.request(methods.agent.session.prompt, request))
      const meta = response._meta?.['berth'] as { stopReason: string; errorCode?: string; turns: number }
      return {
        acpReason: response.stopReason,
        stopReason: meta.stopReason,
        errorCode: meta.errorCode,
        turns: meta.turns,
        updates: updates.slice(before),
        reported: reported.slice(reportedBefore),
      }
    },
    async steer(id, text) {
      const { agent, or } = running
      const request = { sessionId, id, prompt: [{ type: 'text', text }] }
      return (await or(agent.request<{ taken: boolean }, object>('_berth/steer', request))).taken
    },
    heard: () => running.or(running.agent.request<void, object>('_berth/barrier', {}).catch(() => undefined)),
    cancel: () => running.agent.notify(methods.agent.session.cancel, { sessionId }),
    async restart() {
      await running.kill()
      running = await start(sessionId)
    },
    kill: () => running.kill(),
    async [Symbol.asyncDispose]() {
      await running.kill()
      // No sandbox ends with the engine here, and its commands in the background outlive it.
      await signalProcesses(undefined, `BERTH_BACKGROUND=${sessionId}/`, 'SIGKILL')
      await gateway[Symbol.asyncDispose]()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Returns the agent's text in these updates. */
export const textOf = (updates: readonly SessionUpdate[]): string =>
  updates
    .map(update =>
      update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? update.content.text : '',
    )
    .join('')

/** Returns each tool call as `name status`, with the text of its result. */
export function callsOf(updates: readonly SessionUpdate[]): { call: string; text: string }[] {
  const names = new Map<string, string | null | undefined>()
  return updates.flatMap(update => {
    if (update.sessionUpdate === 'tool_call') names.set(update.toolCallId, update.name)
    if (update.sessionUpdate !== 'tool_call_update') return []
    const text = (update.content ?? [])
      .map(item => (item.type === 'content' && item.content.type === 'text' ? item.content.text : ''))
      .join('')
    return [{ call: `${names.get(update.toolCallId)} ${update.status}`, text }]
  })
}
