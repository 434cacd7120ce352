import type { Answer } from './host-wait.ts'

/** How long an answer holds without another look at the rows: a program may try again at once, and any number of times. */
const MEMORY_MS = 1000
/** Hosts that are remembered; a program can make up any number. */
const MOST = 1000

/**
 * The answers "nobody to ask" and "too many hosts" of one sandbox, for a second. Each would take the Session's lock, or two
 * reads. That nobody is there holds for its host alone, since others may be allowed; that people are asked about too many
 * hosts holds for all that are not asked about yet.
 */
export class BriefAnswers {
  readonly #nowMs: () => number
  readonly #nobody = new Map<string, number>()
  #crowdedUntil = Number.NEGATIVE_INFINITY

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Returns what was answered about a host less than a second ago; undefined if it is to be asked about. */
  find(destination: string): Answer | undefined {
    const now = this.#nowMs()
    if (now < (this.#nobody.get(destination) ?? now)) return { kind: 'nobody' }
    return now < this.#crowdedUntil ? { kind: 'crowded' } : undefined
  }

  keep(destination: string, { kind }: { readonly kind: string }): void {
    if (kind === 'crowded') this.#crowdedUntil = this.#nowMs() + MEMORY_MS
    if (kind !== 'nobody') return
    if (this.#nobody.size >= MOST) this.#nobody.clear()
    this.#nobody.set(destination, this.#nowMs() + MEMORY_MS)
  }

  /** Forgets all, since something was decided or other work begins. */
  clear(): void {
    this.#nobody.clear()
    this.#crowdedUntil = Number.NEGATIVE_INFINITY
  }
}
