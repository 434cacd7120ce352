import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { AgentStderr } from './agent-stderr.ts'
import { encodeRecord, encodeTimedRecord, type Journal, type Seal } from './journal.ts'
import { LineSplitter } from './line-splitter.ts'
import type { FirstLine } from './prepared-agent.ts'
import { descendantsOf, groupOf } from './process-tree.ts'
import { MAX_LINE_BYTES, MAX_STDIN_QUEUE_BYTES, MAX_UNACKNOWLEDGED_BYTES, type SupervisorSignal } from './protocol.ts'

/** Limits on reading from pipes that the agent's children still hold open after it has ended. */
const DRAIN_MS = 1000
const MAX_DRAIN_BYTES = 4 * 1024 * 1024
/** Makes the kernel's OOM killer take the agent before the supervisor. */
const OOM_SCORE_ADJUSTMENT = '500'
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * A running agent with its own session and process group. Its stdout and stderr are journaled by line, and its stdin is
 * written in order.
 *
 * It ends in this order. The process exits. Its pipes are read to their end, or for a bounded time if a child holds
 * them open. The rest of its process group is killed. The `x` record is journaled, then `onEnd` is called. So `x`
 * follows all output, and no process of the group can touch the workspace after it.
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
  /** What the process was given before it was this agent, until a worker gives it a line. */
  #first: FirstLine | undefined
  onEnd: () => void = () => {}

  /** @param first a line that the process has answered; its stdout is paused since */
  constructor(journal: Journal, child: ChildProcessWithoutNullStreams, pid: number, key: string, first?: FirstLine) {
    this.#journal = journal
    this.#first = first
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
    // An agent may close its stdin or break a pipe; its exit reports that, so the supervisor ignores these errors.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {})
    child.on('error', () => {})
    child.once('exit', (code, signal) => this.#exited(code, signal))
    child.once('close', () => this.#finish())
    preferForOomKill(pid)
    journal.append(encodeTimedRecord('s', JSON.stringify({ pid }), key))
    if (journal.seal) this.sealed(journal.seal)
  }

  /** Writes a line to the agent. Kills an agent that leaves too much unread, so that memory stays bounded. */
  write(line: string): void {
    if (this.#exit || this.#over || !this.#child.stdin.writable) return
    const first = this.#first
    if (first !== undefined) {
      this.#first = undefined
      this.#child.stdout.resume()
      // Another line than it was prepared with is given as well; the answer before it answers nobody.
      if (line === first.line) {
        this.#read(this.#stdout, first.answer)
        return
      }
    }
    this.#child.stdin.write(`${line}\n`)
    if (this.#child.stdin.writableLength > MAX_STDIN_QUEUE_BYTES) this.#end({ signal: 'STDIN_FULL' })
  }

  /** True if descendants of the agent have left its group: they were to outlast something of it, and would die or be orphans. */
  get hasOthers(): boolean {
    return descendantsOf(this.#pid).some(pid => groupOf(pid) !== this.#pid)
  }

  /** Sends TERM to the whole group now, and KILL after `graceMs`. A later call can only bring the KILL forward. */
  stop(graceMs: number): void {
    this.#signalGroup('SIGTERM')
    const killAt = performance.now() + graceMs
    if (killAt >= this.#killAt) return
    this.#killAt = killAt
    clearTimeout(this.#killTimer)
    this.#killTimer = setTimeout(() => this.#kill(), Math.min(graceMs, MAX_TIMER_MS))
  }

  /** Kills the agent, because the journal is sealed and the agent must not act without a record. */
  sealed(seal: Seal): void {
    this.#end(seal)
  }

  /** Resumes reading the agent's output if a worker has acknowledged enough. */
  resume(): void {
    if (this.#first === undefined && this.#child.stdout.isPaused() && !this.#mustPause()) this.#child.stdout.resume()
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

  /** Kills the agent with all its descendants, because it can no longer end those that it moved to other groups. */
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

  /**
   * Signals the group, because an agent's children must not outlive it. The id stays in use while one of them lives.
   */
  #signalGroup(name: NodeJS.Signals): void {
    signal(-this.#pid, name)
  }
}

function signal(target: number, name: NodeJS.Signals): void {
  try {
    process.kill(target, name)
  } catch {
    // ESRCH: the group is empty.
  }
}

/** Makes the kernel end a process and what it starts before the supervisor, if memory runs out. */
export function preferForOomKill(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE_ADJUSTMENT)
  } catch {
    // Without /proc, or without the right to write it, the kernel chooses by size alone.
  }
}
