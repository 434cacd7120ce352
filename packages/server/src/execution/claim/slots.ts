import { CredentialRefusal } from './git-credential.ts'

/** A number of requests that may be answered at once. */
export class Slots {
  #free: number

  constructor(most: number) {
    this.#free = most
  }

  /**
   * Takes a slot until the result is disposed of.
   * @throws CredentialRefusal 503 if all are taken
   */
  take(): Disposable {
    if (this.#free === 0) throw new CredentialRefusal(503, 'too many requests at once; wait for one to end')
    this.#free -= 1
    return {
      [Symbol.dispose]: () => {
        this.#free += 1
      },
    }
  }
}
