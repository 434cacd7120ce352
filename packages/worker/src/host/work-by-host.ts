/**
 * Works for each host beside the others, and for each once at a time: a host that does not answer holds up no other, nor
 * the next round for them.
 */
export class WorkByHost {
  readonly #underWay = new Map<string, Promise<void>>()

  /** Starts work for a host, unless the work of an earlier round goes on. @returns the work, or null */
  start(host: string, work: () => Promise<void>): Promise<void> | null {
    if (this.#underWay.has(host)) return null
    const started = Promise.try(work).finally(() => this.#underWay.delete(host))
    // Whoever no longer waits for it hears nothing of its failure, and the next round meets it again.
    started.catch(() => undefined)
    this.#underWay.set(host, started)
    return started
  }

  /** Resolves when nothing is under way. */
  async over(): Promise<void> {
    await Promise.allSettled(this.#underWay.values())
  }
}
