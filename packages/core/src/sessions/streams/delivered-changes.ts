import type { Change } from './change-feed-sql.ts'

/** Remembers the last change that a feed has told of each Session, so that a look back does not repeat it. */
export class DeliveredChanges {
  readonly #positions = new Map<string, bigint>()

  get size(): number {
    return this.#positions.size
  }

  has({ id, position }: Change): boolean {
    return this.#positions.get(id) === position
  }

  add({ id, position }: Change): void {
    this.#positions.set(id, position)
  }

  /** Drops the changes below a position, which no look back reaches any more. */
  forget(before: bigint): void {
    for (const [id, position] of this.#positions) if (position < before) this.#positions.delete(id)
  }

  clear(): void {
    this.#positions.clear()
  }
}
