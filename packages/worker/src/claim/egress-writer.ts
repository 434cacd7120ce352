import { recordEgress } from '@berth/core/sessions/egress/record-egress.ts'
import { auditSecretUses } from '@berth/core/sessions/egress/secret-uses.ts'
import { holdSession } from '@berth/core/sessions/session/session-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { EgressTarget } from '@berth/sandboxes/driver.ts'
import { type Claim, ClaimLost } from './claim.ts'
import { EgressRecorder, type Refusal } from './egress-recorder.ts'
import type { ExecutionContext } from './execution-context.ts'
import { holdsFence, isUnclaimed } from './hold-sql.ts'

/** Shortest time between two writes of what one sandbox reached. */
const FLUSH_MS = 10_000
/** The first refusal after a quiet time is told soon, with those that come with it. */
const SOON_MS = 300
/** Writes in a row that another worker's hold of the execution may prevent, before what was counted is given up. */
const MOST_TRIES = 60

/** Times that tests shorten. */
export interface WriterTimes {
  readonly flushMs?: number
  readonly soonMs?: number
}

type WriterContext = Pick<ExecutionContext, 'db' | 'clock' | 'wakeups' | 'log'>

/**
 * Writes down what one sandbox reached and was refused, at most every ten seconds: under the claim that is at work on it, or
 * while nobody has one. What a process counts and cannot write before it dies is lost.
 */
export class EgressWriter {
  readonly #context: WriterContext
  readonly #times: Required<WriterTimes>
  readonly #key: SessionKey
  readonly #recorder: EgressRecorder
  #timer: NodeJS.Timeout | undefined
  #dueAt = 0
  #wroteAt = Number.NEGATIVE_INFINITY
  #tries = 0
  readonly #onIdle: () => void
  #writing: Promise<void> = Promise.resolve()
  /** Secrets were used of which the audit log may not tell yet. */
  #isToAudit = false
  /** The claim at work on the sandbox; null: none, so that only a person's terminal can be at work. */
  claim: Claim | null = null

  /** @param onIdle called when everything is written */
  constructor(context: WriterContext, key: SessionKey, onIdle: () => void, times: WriterTimes = {}) {
    this.#context = context
    this.#onIdle = onIdle
    this.#key = key
    this.#times = { flushMs: FLUSH_MS, soonMs: SOON_MS, ...times }
    this.#recorder = new EgressRecorder(() => context.clock.now().getTime())
  }

  /** True if something is to be written. */
  get isPending(): boolean {
    return this.#recorder.isPending
  }

  /** Has `onIdle` called in a while, also if nothing is counted until then. */
  touch(): void {
    this.#schedule(this.#times.flushMs)
  }

  reached(target: EgressTarget): void {
    this.#recorder.reached(target)
    this.#schedule(this.#times.flushMs)
  }

  refused(target: EgressTarget, refusal: Refusal): void {
    this.#recorder.refused(target, refusal)
    this.#schedule(this.#times.soonMs)
  }

  bytes(moved: EgressTarget & { readonly sent: number; readonly received: number }): void {
    this.#recorder.bytes(moved)
    this.#schedule(this.#times.flushMs)
  }

  used(use: EgressTarget & { readonly name: string }): void {
    this.#recorder.used(use)
    this.#isToAudit = true
    this.#schedule(this.#times.flushMs)
  }

  /**
   * Writes what was counted since the last time; at the end of work also the uses of secrets into the audit log. It never
   * throws: what cannot be written now waits for the next time.
   */
  async flush(why: 'due' | 'end' = 'due'): Promise<void> {
    this.stop()
    this.#writing = this.#writing.then(() => this.#write(why === 'end'))
    await this.#writing
  }

  /** Writes nothing more by itself. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(afterMs: number): void {
    const now = performance.now()
    const dueAt = Math.max(now + afterMs, this.#wroteAt + this.#times.flushMs)
    if (this.#timer !== undefined && this.#dueAt <= dueAt) return
    clearTimeout(this.#timer)
    this.#dueAt = dueAt
    this.#timer = setTimeout(() => void this.flush(), dueAt - now).unref()
  }

  async #write(isEnd: boolean): Promise<void> {
    const batch = this.#recorder.take(isEnd)
    const isEmpty = batch.hosts.length === 0 && batch.refusals.length === 0
    const isAudited = isEnd && this.#isToAudit
    if (!isEmpty || isAudited) {
      this.#wroteAt = performance.now()
      const { clock, db, log, wakeups } = this.#context
      const { claim } = this
      try {
        await db.transaction(async tx => {
          await holdSession(tx, this.#key)
          const task = claim === null ? null : await holdsFence(tx, claim)
          // A seal, or another worker, has the execution: its Events come in its own order.
          if (task === null && !(await isUnclaimed(tx, this.#key))) throw new ClaimLost()
          const now = clock.now()
          // No Event of a Run follows its last one.
          if (!isEmpty) await recordEgress(tx, this.#key, task === 'run' ? (claim?.runId ?? null) : null, batch, now)
          if (isAudited) await auditSecretUses(tx, this.#key, now)
        })
        this.#tries = 0
        if (isAudited) this.#isToAudit = false
        if (batch.refusals.length > 0) {
          wakeups.publish(topics.session(this.#key.organizationId, this.#key.sessionId))
        }
      } catch (err) {
        const isHeld = err instanceof ClaimLost && ++this.#tries < MOST_TRIES
        if (isHeld || err instanceof DatabaseUnavailable) this.#recorder.giveBack(batch)
        else if (!(err instanceof ClaimLost))
          log.warn({ err, ...this.#key }, 'the egress of a sandbox was not recorded')
      }
    }
    if (this.#recorder.isPending) this.#schedule(this.#times.flushMs)
    else this.#onIdle()
  }
}
