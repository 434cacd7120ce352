import type { ApplyOutput, ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'
import { saveApplied } from '@berth/core/sessions/leases/apply-sql.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { cutText, storable } from '@berth/core/sessions/log/bounded-text.ts'
import type { MaskingStream, Redactor } from '@berth/platform/kit/redactor.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/** Bytes of output that Events tell, over the whole apply. */
export const MAX_REPORTED_BYTES = 128 * 1024
/** Bytes of output that the terminal Event shows. */
export const MAX_TAIL_BYTES = 8 * 1024
/** Least time between two Events of output while a process runs; its end tells the rest. */
const EVERY_MS = 1000
/** The first Event waits this long for more text. */
const FIRST_MS = 300

/** Takes what a program of an apply writes. */
export type ProgramOutput = Pick<OutputReporter, 'begin' | 'push' | 'replaceTail' | 'dueInMs' | 'report'>

/**
 * Tells what the processes of an apply write, masked and bounded.
 *
 * The text of a process is a function of its journal, and the lease's row says how many bytes of it were told. So a
 * worker that reads the journal again, from the beginning of the process, tells only the rest.
 */
export class OutputReporter {
  readonly #context: ExecutionContext
  readonly #claim: Claim
  readonly #lease: LeaseRow
  readonly #redactor: Redactor
  #stream: MaskingStream
  /** Bytes of all text before the process at work, and the end of that text. */
  #before: number
  #tailBefore: string
  /** Bytes of the process's text. */
  #seen = 0
  #tail: string
  /** Text that is not told yet. */
  #waiting = ''
  #reported: number
  #nextAt: number | null = null

  constructor(context: ExecutionContext, claim: Claim, lease: LeaseRow, redactor: Redactor) {
    const { before = 0, reported = 0, tail = '' } = lease.apply?.output ?? {}
    this.#context = context
    this.#claim = claim
    this.#lease = lease
    this.#redactor = redactor
    this.#stream = redactor.stream()
    this.#before = before
    this.#tailBefore = tail
    this.#tail = tail
    this.#reported = reported
  }

  /** Begins to read the text of a process, for the first time or again. */
  begin(): void {
    this.#stream = this.#redactor.stream()
    this.#seen = 0
    this.#tail = this.#tailBefore
    this.#waiting = ''
  }

  /** Takes the next text of the process. */
  push(text: string): void {
    this.#take(this.#stream.push(text))
  }

  /** Takes the end of the process's text in place of what it wrote since its beginning. */
  replaceTail(text: string): void {
    this.#take(this.#stream.end(true))
    this.#stream = this.#redactor.stream()
    this.#tail = endOf(storable(this.#redactor.ending(text, true)))
  }

  /** Returns how long `tell` still waits, in milliseconds. */
  get dueInMs(): number {
    return this.#nextAt === null ? FIRST_MS : Math.max(0, this.#nextAt - performance.now())
  }

  /**
   * Appends an Event with the text since the last one, if there is any.
   *
   * @throws ClaimLost
   */
  async report(): Promise<void> {
    this.#take(this.#stream.settled())
    await this.#append()
  }

  /**
   * Ends the text of the process.
   *
   * @param notes lines of the platform's own
   * @returns the output for the report
   * @throws ClaimLost
   */
  async end(notes: readonly string[] = []): Promise<ApplyOutput> {
    this.#take(this.#stream.end())
    if (notes.length > 0) this.#take(this.#redactor.text(notes.map(note => `berth: ${note}\n`).join('')))
    await this.#append()
    this.#before += this.#seen
    this.#seen = 0
    this.#tailBefore = this.#tail
    this.#stream = this.#redactor.stream()
    return { before: this.#before, reported: this.#reported, tail: this.#tail }
  }

  #take(masked: string): void {
    if (masked === '') return
    const text = storable(masked)
    const bytes = Buffer.byteLength(text)
    const at = this.#before + this.#seen
    this.#seen += bytes
    this.#tail = endOf(this.#tail + text)
    const unreported = Math.max(0, this.#reported - at)
    if (unreported < bytes) this.#waiting += Buffer.from(text).subarray(unreported).toString()
  }

  async #append(): Promise<void> {
    const { text } = cutText(this.#waiting, Math.max(0, MAX_REPORTED_BYTES - this.#reported))
    if (text === '') {
      this.#waiting = ''
      return
    }
    const { id: leaseId, environment_revision: revision } = this.#lease
    const offset = this.#reported
    const reported = offset + Buffer.byteLength(text)
    const output = { before: this.#before, reported, tail: this.#tailBefore }
    await underFence(this.#context, this.#claim, async tx => {
      const run = this.#claim.runId === null ? {} : { runId: this.#claim.runId }
      const data = { leaseId, revision, offset, text }
      const event = { type: 'svc.environment.output', visibility: 'transcript', ...run, data } as const
      await appendEvents(tx, this.#claim, [event], this.#context.clock.now())
      await saveApplied(tx, leaseId, { output } satisfies Partial<ApplyReport>)
    })
    this.#reported = reported
    this.#waiting = ''
    this.#nextAt = performance.now() + EVERY_MS
    this.#context.wakeups.publish(topics.session(this.#claim.organizationId, this.#claim.sessionId))
  }
}

/** Returns the last bytes of a text, from the beginning of a character on. */
export function endOf(text: string, maxBytes: number = MAX_TAIL_BYTES): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  let start = bytes.length - maxBytes
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1
  return bytes.toString('utf8', start)
}
