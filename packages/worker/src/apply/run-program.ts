import { setTimeout as sleep } from 'node:timers/promises'
import type { ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import type { ApplyOrder } from '@berth/supervisor/apply'
import { SupervisorConnection } from '../supervisor/connection.ts'
import { ConnectionClosedError, SandboxFrozenError } from '../supervisor/errors.ts'
import type { JournalRecord } from '../supervisor/stream.ts'
import { ApplyFailed } from './apply-failed.ts'
import type { ApplyParts } from './apply-parts.ts'
import type { ProgramOutput } from './output-reporter.ts'

/** Delay before another attempt at a connection that the supervisor closed. */
const RETRY_MS = 250
/** A supervisor may close this many connections in a row; then it counts as broken. */
const MAX_VAIN_CONNECTIONS = 10
/** Time between asking the program to end and killing it. */
const STOP_GRACE_MS = 1000
/** The program keeps its time limit itself. After this much more it is stopped from outside: it may be suspended. */
const LATE_MS = 5_000

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A process of an apply. */
export interface Program {
  /** Names it among the processes of the apply. */
  readonly name: string
  readonly order: ApplyOrder
  readonly env: Readonly<Record<string, string>>
  /** The program ends by itself after this long. */
  readonly limitMs: number
  /** Takes every message of the program but its output; whatever it is, it came out of the sandbox. */
  readonly take: (message: Readonly<Record<string, unknown>>) => void
}

/** What following a program needs of an apply. */
type ProgramParts = Pick<ApplyParts, 'claim' | 'context' | 'cwd' | 'lease'> & { readonly output: ProgramOutput }

/** How a program ended. */
export interface ProgramEnd {
  /** True if it was stopped from outside, because it did not end in time. */
  readonly late: boolean
  /** Offset of the journal behind its records. */
  readonly journal: NonNullable<ApplyReport['journal']>
}

/**
 * Starts the apply program in the sandbox, or finds it there after a takeover, and follows it to its end. The supervisor
 * takes the start once by its key, and its journal has everything since, so the program never runs twice.
 *
 * @throws ApplyFailed if it could not be started, or the reason of `signal` if that is one; the program has ended then
 * @throws SandboxGoneError, SandboxFrozenError, SupervisorProtocolError if the sandbox is lost
 * @throws ClaimLost, FenceLostError, DatabaseUnavailable, or another reason of `signal`: the program goes on
 */
export async function runProgram(parts: ProgramParts, program: Program, signal: AbortSignal): Promise<ProgramEnd> {
  const start: Start = { seenAt: null }
  for (let vain = 0; ; vain += 1) {
    try {
      return await follow(parts, program, start, signal)
    } catch (error) {
      if (!(error instanceof ConnectionClosedError)) throw error
      if (vain >= MAX_VAIN_CONNECTIONS) throw new SandboxGoneError('the supervisor closes every connection')
      await sleep(RETRY_MS)
    }
  }
}

/** The clock of the machine that a sandbox is on may be wrong, so the time of the journal's record does not count. */
interface Start {
  /** When this process read of it, by `performance.now()`; null before. A process that takes over begins anew. */
  seenAt: number | null
}

async function follow(parts: ProgramParts, program: Program, start: Start, signal: AbortSignal): Promise<ProgramEnd> {
  const { claim, context, cwd, lease, output } = parts
  const { driver, limits } = context
  const key = `apply/${program.name}`
  await using connection = await SupervisorConnection.open(await driver.attach(lease.id, signal), {
    fence: claim.token,
    from: lease.replay_from,
    helloDeadlineMs: limits.pingMs,
  })
  using watch = new Watch(parts, key, connection, signal)
  output.begin()
  const command = [insidePaths.node, `${insidePaths.bundles}/apply.cjs`]
  await connection.start({ key, command, env: program.env, cwd })
  await connection.send(`${key}/order`, JSON.stringify(program.order))
  const batches = connection.batches()
  for (let next = batches.next(); ; ) {
    const step = await Promise.race([next, watch.broken, watch.due])
    if (step === 'due') {
      await output.report()
      watch.notified()
      continue
    }
    for (const record of step.value) {
      if (record.type === 's') {
        start.seenAt ??= performance.now()
        watch.endBy(start.seenAt + program.limitMs + LATE_MS)
      }
      if (record.type === 'f') throw new ApplyFailed('apply_failed', { journal: record.end })
      if (record.type === 'o') takeLine(record, parts, program)
      if (record.type !== 'x') continue
      if (signal.aborted) throw signal.reason
      return { late: watch.late, journal: record.end }
    }
    watch.wrote()
    next = batches.next()
  }
}

/** Takes a line of the program. Setup may write such lines too, so nothing about them is certain. */
function takeLine({ payload }: JournalRecord, { output }: ProgramParts, { take }: Program): void {
  let message: unknown
  try {
    message = JSON.parse(payload.toString())
  } catch {
    return
  }
  if (typeof message !== 'object' || message === null) return
  const { out, tail, ...rest } = message as Record<string, unknown>
  if (typeof out === 'string') output.push(out)
  else if (typeof tail === 'string') output.replaceTail(tail)
  else take(rest)
}

/** Watches a program: its time, an interruption of the apply, a silent supervisor, and output that is to be told. */
class Watch implements Disposable {
  readonly #parts: ProgramParts
  readonly #key: string
  readonly #connection: SupervisorConnection
  readonly #signal: AbortSignal
  readonly #broken = Promise.withResolvers<never>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #due = Promise.withResolvers<'due'>()
  #reporting: NodeJS.Timeout | undefined
  /** True if the program was stopped because its time was over. */
  late = false

  constructor(parts: ProgramParts, key: string, connection: SupervisorConnection, signal: AbortSignal) {
    this.#parts = parts
    this.#key = key
    this.#connection = connection
    this.#signal = signal
    this.#broken.promise.catch(() => undefined)
    if (signal.aborted) this.#interrupted()
    signal.addEventListener('abort', this.#interrupted)
    this.#later(() => this.#pulse(), parts.context.limits.pulseMs)
  }

  /** Rejects once the program cannot be followed any more. */
  get broken(): Promise<never> {
    return this.#broken.promise
  }

  /** Resolves once output is to be told. */
  get due(): Promise<'due'> {
    return this.#due.promise
  }

  /** Output may have arrived. */
  wrote(): void {
    this.#reporting ??= this.#later(async () => this.#due.resolve('due'), this.#parts.output.dueInMs)
  }

  notified(): void {
    this.#reporting = undefined
    this.#due = Promise.withResolvers()
  }

  /** Stops the program at a time of `performance.now()`. */
  endBy(at: number): void {
    this.#later(async () => {
      this.late = true
      await this.#stop('late')
    }, at - performance.now())
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#interrupted)
    for (const timer of this.#timers) clearTimeout(timer)
  }

  readonly #interrupted = () => {
    const { reason } = this.#signal
    if (reason instanceof ApplyFailed) this.#stop(reason.code).catch(this.#broken.reject)
    else this.#broken.reject(reason)
  }

  /** Ends the program. A supervisor that does not end it is hung. */
  async #stop(why: string): Promise<void> {
    const { limits } = this.#parts.context
    this.#later(async () => {
      throw new SandboxFrozenError('the program did not end after its supervisor was told to stop it')
    }, STOP_GRACE_MS + limits.pingMs)
    await this.#connection.stop(`${this.#key}/stop/${why}/${this.#parts.claim.token}`, STOP_GRACE_MS)
  }

  async #pulse(): Promise<void> {
    const { context, lease } = this.#parts
    // A worker that lost its claim during a long pause may have frozen the sandbox.
    await context.driver.thaw(lease.id)
    await this.#connection.ping(context.limits.pingMs)
    this.#later(() => this.#pulse(), context.limits.pulseMs)
  }

  #later(work: () => Promise<unknown>, delayMs: number): NodeJS.Timeout {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer)
        work().catch(this.#broken.reject)
      },
      Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS),
    )
    this.#timers.add(timer)
    return timer
  }
}
