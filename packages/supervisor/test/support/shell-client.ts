import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  type ContentBlock,
  client,
  methods,
  ndJsonStream,
  type PromptResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { spawn } from '../../../../script/testing/spawn.ts'

const SHELL = fileURLToPath(new URL('../../src/shell.ts', import.meta.url))

type Updates<Kind> = Extract<SessionUpdate, { sessionUpdate: Kind }>

export interface ShellClient extends AsyncDisposable {
  readonly pid: number
  /** The session's working directory; the shell also puts its temporary files there. */
  readonly directory: string
  readonly exit: Promise<unknown>
  /** Runs a script; resolves with its result and updates. */
  run(...texts: string[]): Promise<ShellTurn>
  cancel(): Promise<void>
  request(method: string, params: unknown): Promise<unknown>
  endInput(): void
}

export interface ShellTurn {
  readonly response: PromptResponse
  readonly call: Updates<'tool_call'>
  readonly update: Updates<'tool_call_update'>
  readonly updates: number
  readonly output: string
  readonly summary: string
}

/** Starts a real shell runtime, initialized, with one session. */
export async function openShell(): Promise<ShellClient> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-shell-test-'))
  const child = spawn(process.execPath, [SHELL], {
    env: { PATH: process.env.PATH, TMPDIR: directory },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  const updates: SessionUpdate[] = []
  const { agent } = client({ name: 'test' })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update)
    })
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>))
  await agent.request(methods.agent.initialize, { protocolVersion: 1 })
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: directory, mcpServers: [] })
  return {
    pid: child.pid ?? 0,
    directory,
    exit,
    async run(...texts) {
      const prompt = texts.map((text): ContentBlock => ({ type: 'text', text }))
      const before = updates.length
      const response = await agent.request(methods.agent.session.prompt, { sessionId, prompt })
      return turnOf(response, updates.slice(before))
    },
    cancel: () => agent.notify(methods.agent.session.cancel, { sessionId }),
    request: (method, params) => agent.request(method, params),
    endInput: () => child.stdin.end(),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exit
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function turnOf(response: PromptResponse, updates: readonly SessionUpdate[]): ShellTurn {
  const [call, update] = updates
  if (call?.sessionUpdate !== 'tool_call' || update?.sessionUpdate !== 'tool_call_update') {
    throw new Error(`not one tool call: ${JSON.stringify(updates)}`)
  }
  const [item] = update.content ?? []
  const output = item?.type === 'content' && item.content.type === 'text' ? item.content.text : ''
  const berth = response._meta?.berth as { summary: string }
  return { response, call, update, updates: updates.length, output, summary: berth.summary }
}
