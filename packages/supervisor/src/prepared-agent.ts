import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { BOUND, PREPARED, type PrepareOrder } from './protocol.ts'
import type { StartOrder } from './start-agent.ts'

/** An agent answers its first line briefly; more, while nobody has asked it anything, is not what was prepared. */
const MAX_ANSWER_BYTES = 64 * 1024
const NEWLINE_BYTE = 0x0a

/** The line that a process was given before it was an agent, and what it wrote then. */
export interface FirstLine {
  readonly line: string
  readonly answer: Buffer
}

/** A process that waits to become the sandbox's agent: it has been given one line, and has answered that. */
export interface ReadyAgent {
  readonly child: ChildProcessWithoutNullStreams
  readonly pid: number
  readonly first: FirstLine
}

/**
 * A sandbox that was started before it has a lease. Whoever prepares it holds a connection; if that ends before the
 * sandbox is bound, nobody can ever use it, and the supervisor exits, which ends the sandbox.
 *
 * Nothing of the preparation is in the journal. What the process has answered is journaled as the answer to the same line
 * once a worker gives it.
 */
export class PreparedAgent {
  #agent: ReadyAgent | undefined
  #env: PrepareOrder['env'] = {}
  #command: readonly string[] = []
  #requested = false

  /** Carries out the order of a connection that nothing reads; it counts once. */
  take({ command, env, cwd, line, rehearsal }: PrepareOrder, socket: Socket): void {
    if (this.#requested) {
      socket.destroy()
      return
    }
    this.#requested = true
    let bound = false
    socket.on('close', () => {
      if (!bound) process.exit(0)
    })
    const [program = '', ...args] = command
    const child = spawn(program, args, { env, cwd, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
    for (const one of [child, child.stdin, child.stdout, child.stderr]) one.on('error', () => undefined)
    const { pid } = child
    if (pid === undefined) {
      child.once('error', () => socket.destroy())
      return
    }
    child.once('exit', () => {
      this.#agent = undefined
      if (!bound) socket.destroy()
    })
    child.stdin.write(`${line}\n`)
    let answer: Buffer | undefined
    let received = Buffer.alloc(0)
    const listen = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length > MAX_ANSWER_BYTES) socket.destroy()
      if (received.at(-1) !== NEWLINE_BYTE) return
      if (answer === undefined && rehearsal !== undefined) {
        answer = received
        received = Buffer.alloc(0)
        child.stdin.write(`${rehearsal}\n`)
        return
      }
      child.stdout.off('data', listen).pause()
      this.#agent = { child, pid, first: { line, answer: answer ?? received } }
      socket.write(PREPARED)
    }
    child.stdout.on('data', listen)
    this.#command = command
    this.#env = env
    socket.once('data', () => {
      bound = true
      socket.end(BOUND)
    })
    socket.resume()
  }

  /**
   * Returns the prepared process if it is what the order would start. It ends otherwise. The directory is not compared: only an
   * agent that takes its directory from its session may be prepared.
   */
  become({ command, env }: StartOrder): ReadyAgent | undefined {
    const agent = this.#agent
    this.#agent = undefined
    if (agent === undefined) return undefined
    if (isSame([...command], [...this.#command]) && isSame(env, this.#env)) return agent
    try {
      process.kill(-agent.pid, 'SIGKILL')
    } catch {
      // ESRCH: it has just ended.
    }
    return undefined
  }
}

function isSame(one: object, other: object): boolean {
  const sorted = (values: object) => JSON.stringify(Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return sorted(one) === sorted(other)
}
