import type { Change } from './change-feed-sql.ts'

/** What a feed has told of each Session, so that looking back does not tell it again. */
export class Told {
  readonly #changes = new Map<string, Change>()

  get size(): number {
    return this.#changes.size
  }

  has(change: Change): boolean {
    return this.#changes.get(change.id)?.version === change.version
  }

  add(change: Change): void {
    this.#changes.delete(change.id)
    this.#changes.set(change.id, change)
  }

  /** Drops what was told first until something is as young as that. */
  forget(before: Date): void {
    for (const [id, { updated_at }] of this.#changes) {
      if (updated_at >= before) return
      this.#changes.delete(id)
    }
  }

  clear(): void {
    this.#changes.clear()
  }
}
