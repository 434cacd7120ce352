import type { Change } from './change-feed-sql.ts'

/** What a feed has told of each Session, so that looking back does not tell it again. */
export class Told {
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

  /** Drops what no look back comes to any more. */
  forget(before: bigint): void {
    for (const [id, position] of this.#positions) if (position < before) this.#positions.delete(id)
  }

  clear(): void {
    this.#positions.clear()
  }
}
