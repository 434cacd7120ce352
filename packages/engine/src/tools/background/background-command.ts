import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { signalProcesses } from './marked-processes.ts'
import { OutputTail } from './output-tail.ts'
import { shortened, wholeCharacters } from './shortened.ts'

/** Output that one read gives, in bytes. */
const MAX_READ = 50 * 1024
/** Time between the request to end and the kill. */
const GRACE_MS = 300
/** Time after the kill in which its processes let go of its output. */
const KILLED_MS = 2000

export type BackgroundStatus = 'running' | 'exited' | 'stopped'

/** A part of a command's output, and the place from which to read on. */
export interface OutputPart {
  readonly text: string
  /** Bytes before it that are not kept any more. */
  readonly leftOut: number
  readonly next: number
  /** Bytes that follow it already. */
  readonly more: number
}

/**
 * A command that goes on while the agent works, with its processes. It has ended once no process holds its output, so a
 * server that a shell leaves behind counts as running.
 */
export class BackgroundCommand {
  readonly id: string
  /** Its beginning. */
  readonly command: string
  readonly startedAt = new Date()
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  readonly #mark: string
  readonly #listeners = new Set<(chunk: Buffer) => void>()
  readonly #output = new OutputTail()
  readonly #over: () => void
  /** Where a read begins that names no place. */
  #read = 0
  #status: BackgroundStatus = 'running'
  #exitCode: number | null = null
  #hasEnded = false
  #escaped = false

  /** @param mark a variable of its environment, by which processes that leave its group are found */
  constructor(id: string, command: string, cwd: string, mark: readonly [name: string, value: string]) {
    this.id = id
    this.command = shortened(command)
    this.#mark = mark.join('=')
    const env = { ...process.env, [mark[0]]: mark[1] }
    this.#child = spawn('bash', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child.stdout?.on('data', chunk => this.#take(chunk))
    this.#child.stderr?.on('data', chunk => this.#take(chunk))
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#over = resolve
    this.#child.once('error', error => {
      this.#take(Buffer.from(error.message))
      this.#end(null)
    })
    this.#child.once('close', code => this.#end(code))
  }

  get status(): BackgroundStatus {
    return this.#status
  }

  /** Null while it runs, and if a signal ended it. */
  get exitCode(): number | null {
    return this.#exitCode
  }

  /** True if a process that could not be found held its output when it was stopped, and may still run. */
  get escaped(): boolean {
    return this.#escaped
  }

  /** Returns its output from a place on; by default from where the last read ended. */
  read(after: number = this.#read): OutputPart {
    const { first, written } = this.#output
    const from = Math.min(Math.max(after, first), written)
    const kept = this.#output.from(from)
    const part = kept.subarray(0, wholeCharacters(kept, MAX_READ))
    this.#read = from + part.length
    return {
      text: part.toString('utf8'),
      leftOut: Math.max(0, first - after),
      next: this.#read,
      more: written - this.#read,
    }
  }

  /** Returns all output that is kept. */
  readAll(): Pick<OutputPart, 'text' | 'leftOut'> {
    const { first } = this.#output
    return { text: this.#output.from(first).toString('utf8'), leftOut: first }
  }

  /** Keeps no output any more of one that has ended, once all of it was read. */
  forgetOutput(): void {
    if (this.#hasEnded && this.#read === this.#output.written) this.#output.clear()
  }

  /** Waits until it has ended, or has printed a text since the last read. */
  async wait(ms: number, text: string | undefined, signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController()
    const ends = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])
    const late = sleep(ms, undefined, { signal: ends }).catch(() => undefined)
    try {
      await Promise.race([late, this.ended, ...(text === undefined ? [] : [this.#prints(text, ends)])])
    } finally {
      over.abort()
    }
    signal?.throwIfAborted()
  }

  /**
   * Ends it with every process that it has begun.
   * @param signal ends the time that it has to end by itself
   */
  async stop(signal?: AbortSignal): Promise<void> {
    if (this.#status === 'running') this.#status = 'stopped'
    await signalProcesses(this.#group, this.#mark, 'SIGTERM')
    await this.#endsWithin(GRACE_MS, signal)
    // Also if it has ended: what it left behind holds no output, and runs.
    await this.kill()
  }

  /** Kills it with every process that it has begun. */
  async kill(): Promise<void> {
    if (this.#status === 'running') this.#status = 'stopped'
    await signalProcesses(this.#group, this.#mark, 'SIGKILL')
    if (await this.#endsWithin(KILLED_MS)) return
    // A process without the group and the variable holds the output, and may do so for ever.
    this.#escaped = true
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
    this.#end(this.#child.exitCode)
  }

  /**
   * Its process group. The group has the number of its first process, and nobody else gets that number before both are
   * gone; a process of this number after the first was reaped is a stranger.
   */
  get #group(): number | undefined {
    const { pid, exitCode, signalCode } = this.#child
    const isReaped = exitCode !== null || signalCode !== null
    return isReaped && existsSync(`/proc/${pid}`) ? undefined : pid
  }

  async #endsWithin(ms: number, signal?: AbortSignal): Promise<boolean> {
    const late = sleep(ms, false, { ref: false, ...(signal !== undefined && { signal }) }).catch(() => false)
    return Promise.race([this.ended.then(() => true), late])
  }

  #take(chunk: Buffer): void {
    this.#output.add(chunk)
    for (const listener of this.#listeners) listener(chunk)
  }

  #end(code: number | null): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (this.#status === 'running') this.#status = 'exited'
    this.#exitCode = code
    this.#over()
  }

  #prints(text: string, signal: AbortSignal): Promise<void> {
    const sought = Buffer.from(text)
    let seen = this.#output.from(this.#read)
    return new Promise(resolve => {
      if (seen.includes(sought)) return resolve()
      const listener = (chunk: Buffer) => {
        seen = Buffer.concat([seen.subarray(-sought.length), chunk])
        if (seen.includes(sought)) resolve()
      }
      this.#listeners.add(listener)
      signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true })
    })
  }
}
