/** Work of several owners that goes on side by side, within a bound for all of it and one for each owner. */
export class Underway {
  readonly #most: number
  readonly #ofOwner: number
  readonly #work = new Map<Promise<unknown>, string>()

  constructor(bounds: { readonly most: number; readonly ofOwner: number }) {
    this.#most = bounds.most
    this.#ofOwner = bounds.ofOwner
  }

  /** How much more may begin. */
  get room(): number {
    return this.#most - this.#work.size
  }

  /** Every owner whose work is under way. */
  get owners(): readonly string[] {
    return [...new Set(this.#work.values())]
  }

  /** Every owner who may begin no more until something of theirs is over. */
  get full(): readonly string[] {
    const counts = Map.groupBy(this.#work.values(), owner => owner)
    return [...counts].filter(([, { length }]) => length >= this.#ofOwner).map(([owner]) => owner)
  }

  /** Counts work until it is over. It must not reject. */
  add(owner: string, work: Promise<unknown>): void {
    const counted: Promise<unknown> = work.finally(() => this.#work.delete(counted))
    this.#work.set(counted, owner)
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work.keys())
  }
}
