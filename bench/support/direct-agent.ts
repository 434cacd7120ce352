import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { initialize, openSession, prompt } from '../../packages/worker/src/agent/acp-orders.ts'

/** An agent driven over ACP through its pipes: no sandbox, no log, and nobody to ask. */
export interface DirectAgent extends AsyncDisposable {
  /** @returns milliseconds from the prompt to its response */
  turnMs(message: string): Promise<number>
}

export interface AgentCommand {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

/** Starts the agent and opens its session, with exactly the lines that a worker sends. */
export async function startDirectAgent({ command, env, cwd }: AgentCommand): Promise<DirectAgent> {
  const [program = '', ...args] = command
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(program, args, {
    cwd,
    env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', TERM: 'dumb', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const answers = new Map<number, (result: Record<string, unknown>) => void>()
  createInterface({ input: child.stdout }).on('line', line => {
    if (!line.startsWith('{')) return
    const { id, method, result, error } = JSON.parse(line)
    if (method !== undefined && id !== undefined) throw new Error(`the agent asks for ${method}`)
    if (error !== undefined) throw new Error(`the agent refuses: ${JSON.stringify(error)}`)
    if (result !== undefined) answers.get(id)?.(result)
  })
  const ask = (line: string) => {
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>()
    answers.set(JSON.parse(line).id, resolve)
    child.stdin.write(`${line}\n`)
    return promise
  }
  await ask(initialize(1).line)
  const { sessionId } = await ask(openSession(1, cwd, null, []).line)
  let turnSequence = 0
  return {
    async turnMs(message) {
      turnSequence += 1
      const of = { runId: 'direct', attempt: 1, turnSequence }
      const blocks = [{ type: 'text', text: message }]
      const { line } = prompt(of, 1, { sessionId: String(sessionId), blocks, meta: { model: 'main/m1' } })
      const begunAt = performance.now()
      await ask(line)
      return performance.now() - begunAt
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
