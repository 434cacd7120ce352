/** Counts the places of each key, and gives none of them more than a number. A place is taken before it is used. */
export class Places {
  readonly #atMost: number
  readonly #taken = new Map<string, number>()

  constructor(atMost: number) {
    this.#atMost = atMost
  }

  /** @returns a function that gives the place back, once; null if there is none left */
  take(name: string): (() => void) | null {
    const taken = this.#taken.get(name) ?? 0
    if (taken >= this.#atMost) return null
    this.#taken.set(name, taken + 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      const left = (this.#taken.get(name) ?? 1) - 1
      if (left === 0) this.#taken.delete(name)
      else this.#taken.set(name, left)
    }
  }
}
