/** A bounded number of places for connections. */
export class Places {
  readonly #most: number
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Returns what gives the place free again, once; undefined if all are taken. */
  take(): (() => void) | undefined {
    if (this.#taken >= this.#most) return undefined
    this.#taken += 1
    let isTaken = true
    return () => {
      if (isTaken) this.#taken -= 1
      isTaken = false
    }
  }
}
