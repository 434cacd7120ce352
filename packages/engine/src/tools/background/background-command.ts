import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { signalProcesses } from './marked-processes.ts'

/** Output that is kept, in bytes: the last. */
const MAX_KEPT = 1024 * 1024
/** Output that one read gives, in bytes. */
const MAX_READ = 50 * 1024
/** Time between the request to end and the kill. */
const GRACE_MS = 300

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
  readonly command: string
  readonly startedAt = new Date()
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  readonly #mark: string
  readonly #listeners = new Set<(chunk: Buffer) => void>()
  #chunks: Buffer[] = []
  #kept = 0
  #written = 0
  /** Where a read begins that names no place. */
  #read = 0
  #status: BackgroundStatus = 'running'
  #exitCode: number | null = null

  /** @param mark a variable of its environment, by which processes that leave its group are found */
  constructor(id: string, command: string, cwd: string, mark: readonly [name: string, value: string]) {
    this.id = id
    this.command = command
    this.#mark = mark.join('=')
    const env = { ...process.env, [mark[0]]: mark[1] }
    this.#child = spawn('bash', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child.stdout?.on('data', chunk => this.#take(chunk))
    this.#child.stderr?.on('data', chunk => this.#take(chunk))
    this.ended = new Promise(resolve => {
      this.#child.once('error', error => {
        this.#take(Buffer.from(error.message))
        this.#end(null)
        resolve()
      })
      this.#child.once('close', code => {
        this.#end(code)
        resolve()
      })
    })
  }

  get status(): BackgroundStatus {
    return this.#status
  }

  /** Null while it runs, and if a signal ended it. */
  get exitCode(): number | null {
    return this.#exitCode
  }

  /** Returns its output from a place on; by default from where the last read ended. */
  read(after: number = this.#read): OutputPart {
    const first = this.#written - this.#kept
    const from = Math.min(Math.max(after, first), this.#written)
    const kept = Buffer.concat(this.#chunks).subarray(from - first)
    const part = kept.subarray(0, wholeCharacters(kept, MAX_READ))
    this.#read = from + part.length
    return {
      text: part.toString('utf8'),
      leftOut: Math.max(0, first - after),
      next: this.#read,
      more: this.#written - this.#read,
    }
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

  /** Ends it with every process that it has begun. */
  async stop(): Promise<void> {
    if (this.#status === 'running') this.#status = 'stopped'
    await signalProcesses(this.#child.pid, this.#mark, 'SIGTERM')
    const isOver = await Promise.race([this.ended.then(() => true), sleep(GRACE_MS).then(() => false)])
    // Also if it has ended: what it left behind holds no output, and runs.
    await this.kill()
    if (!isOver) await this.ended
  }

  /** Kills it with every process that it has begun. */
  async kill(): Promise<void> {
    if (this.#status === 'running') this.#status = 'stopped'
    await signalProcesses(this.#child.pid, this.#mark, 'SIGKILL')
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#kept += chunk.length
    this.#written += chunk.length
    while (this.#kept - (this.#chunks[0]?.length ?? 0) >= MAX_KEPT) this.#kept -= this.#chunks.shift()?.length ?? 0
    for (const listener of this.#listeners) listener(chunk)
  }

  #end(code: number | null): void {
    if (this.#status === 'running') this.#status = 'exited'
    this.#exitCode = code
  }

  #prints(text: string, signal: AbortSignal): Promise<void> {
    const sought = Buffer.from(text)
    const first = this.#written - this.#kept
    let seen = Buffer.concat(this.#chunks).subarray(Math.max(0, this.#read - first))
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

/** Returns the length of the longest beginning within a bound that cuts no character of UTF-8. */
function wholeCharacters(bytes: Buffer, most: number): number {
  if (bytes.length <= most) return bytes.length
  let end = most
  while (end > most - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return end
}
