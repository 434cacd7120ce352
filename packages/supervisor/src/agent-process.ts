import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { AgentStderr } from './agent-stderr.ts'
import { encodeRecord, encodeTimedRecord, type Journal, type Seal } from './journal.ts'
import { LineSplitter } from './line-splitter.ts'
import { descendantsOf } from './process-tree.ts'
import { MAX_LINE_BYTES, MAX_STDIN_QUEUE_BYTES, MAX_UNACKNOWLEDGED_BYTES, type SupervisorSignal } from './protocol.ts'

/** After the agent has ended: how long and how much is still read from pipes that its children hold open. */
const DRAIN_MS = 1000
const MAX_DRAIN_BYTES = 4 * 1024 * 1024
/** In memory trouble the kernel takes the agent before the supervisor. */
const OOM_SCORE_ADJUSTMENT = '500'
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * A running agent: its own session and process group, stdout and stderr journaled by line, stdin fed in order.
 *
 * Its end, in this order: the process exits; its pipes are read to their end, or for a bounded time where a child of
 * it holds them open; whatever is left of its process group is killed; the `x` record is journaled; `onEnd`. So `x`
 * follows all its output, and nothing of the group is left to touch the workspace.
 */
export class AgentProcess {
  readonly #journal: Journal
  readonly #child: ChildProcessWithoutNullStreams
  readonly #pid: number
  readonly #stdout: LineSplitter
  readonly #stderr: AgentStderr
  #batch: Buffer[] = []
  #killAt = Number.POSITIVE_INFINITY
  #killTimer: NodeJS.Timeout | undefined
  #drainTimer: NodeJS.Timeout | undefined
  #exit: { code: number | null; signal: string | null } | undefined
  #ended: { signal: SupervisorSignal; error?: string } | undefined
  #drainedBytes = 0
  #over = false
  onEnd: () => void = () => {}

  constructor(journal: Journal, child: ChildProcessWithoutNullStreams, pid: number, key: string) {
    this.#journal = journal
    this.#child = child
    this.#pid = pid
    this.#stdout = new LineSplitter(MAX_LINE_BYTES, (line, totalBytes) => {
      this.#batch.push(
        totalBytes > line.length
          ? encodeRecord('!', JSON.stringify({ bytes: totalBytes }))
          : encodeTimedRecord('o', line),
      )
    })
    this.#stderr = new AgentStderr(line => this.#batch.push(encodeRecord('e', line)))
    child.stdout.on('data', (chunk: Buffer) => this.#read(this.#stdout, chunk))
    child.stderr.on('data', (chunk: Buffer) => this.#read(this.#stderr, chunk))
    // Neither an agent that closes its stdin nor a broken pipe is a fault of the supervisor; the exit tells.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {})
    child.on('error', () => {})
    child.once('exit', (code, signal) => this.#exited(code, signal))
    child.once('close', () => this.#finish())
    preferForOomKill(pid)
    journal.append(encodeTimedRecord('s', JSON.stringify({ pid }), key))
    if (journal.seal) this.sealed(journal.seal)
  }

  /** Gives the agent a line. One that leaves too much unread is killed, so memory stays bounded. */
  write(line: string): void {
    if (this.#exit || this.#over || !this.#child.stdin.writable) return
    this.#child.stdin.write(`${line}\n`)
    if (this.#child.stdin.writableLength > MAX_STDIN_QUEUE_BYTES) this.#end({ signal: 'STDIN_FULL' })
  }

  /** TERM to the whole group now, KILL after `graceMs`. A later call can only bring the KILL forward. */
  stop(graceMs: number): void {
    this.#signalGroup('SIGTERM')
    const killAt = performance.now() + graceMs
    if (killAt >= this.#killAt) return
    this.#killAt = killAt
    clearTimeout(this.#killTimer)
    this.#killTimer = setTimeout(() => this.#kill(), Math.min(graceMs, MAX_TIMER_MS))
  }

  /** The journal takes no more: without a record of what it does the agent must not go on. */
  sealed(seal: Seal): void {
    this.#end(seal)
  }

  /** Lets the agent write on where a worker has acknowledged enough. */
  resume(): void {
    if (this.#child.stdout.isPaused() && !this.#mustPause()) this.#child.stdout.resume()
  }

  #read(into: LineSplitter | AgentStderr, chunk: Buffer): void {
    if (this.#over) return
    into.push(chunk)
    this.#flush()
    if (this.#exit) {
      this.#drainedBytes += chunk.length
      if (this.#drainedBytes > MAX_DRAIN_BYTES) this.#finish()
    } else if (this.#mustPause()) {
      this.#child.stdout.pause()
    }
  }

  #mustPause(): boolean {
    return !this.#exit && this.#journal.unacknowledgedBytes > MAX_UNACKNOWLEDGED_BYTES
  }

  #flush(): void {
    if (this.#batch.length === 0) return
    const records = Buffer.concat(this.#batch)
    this.#batch = []
    this.#journal.append(records)
  }

  #end(reason: { signal: SupervisorSignal; error?: string }): void {
    this.#ended ??= reason
    this.#kill()
  }

  /** By force, and then with all it started: what it moved to other groups it cannot end itself any more. */
  #kill(): void {
    const descendants = this.#exit ? [] : descendantsOf(this.#pid)
    this.#signalGroup('SIGKILL')
    for (const pid of descendants) signal(pid, 'SIGKILL')
  }

  #exited(code: number | null, signal: string | null): void {
    this.#exit = { code, signal }
    this.#child.stdout.resume()
    this.#drainTimer = setTimeout(() => this.#finish(), DRAIN_MS)
  }

  #finish(): void {
    if (this.#over) return
    this.#stdout.end()
    this.#stderr.end()
    this.#flush()
    this.#over = true
    clearTimeout(this.#killTimer)
    clearTimeout(this.#drainTimer)
    this.#signalGroup('SIGKILL')
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy()
    const exit = { code: this.#exit?.code ?? null, signal: this.#exit?.signal ?? null }
    this.#journal.appendLast(encodeTimedRecord('x', JSON.stringify({ ...exit, ...this.#ended })))
    this.onEnd()
  }

  /** To the group, not the process: an agent's children must not outlive it. The id stays taken while one lives. */
  #signalGroup(name: NodeJS.Signals): void {
    signal(-this.#pid, name)
  }
}

function signal(target: number, name: NodeJS.Signals): void {
  try {
    process.kill(target, name)
  } catch {
    // ESRCH: nobody is left.
  }
}

function preferForOomKill(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE_ADJUSTMENT)
  } catch {
    // No /proc or no right to it: the kernel then chooses by size alone.
  }
}
