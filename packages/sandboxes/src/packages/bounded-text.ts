/** A large list of packages fits; what is longer is not one. */
const MAX_CHARACTERS = 8 * 1024 ** 2

/** Collects what a program writes, as far as it is needed; the rest is dropped. */
export class BoundedText {
  readonly #most: number
  #text = ''
  #isCut = false

  constructor(most = MAX_CHARACTERS) {
    this.#most = most
  }

  push(text: string): void {
    if (this.#isCut) return
    this.#text += text
    if (this.#text.length <= this.#most) return
    this.#isCut = true
    this.#text = `${this.#text.slice(0, this.#most)}\n…\n`
  }

  get text(): string {
    return this.#text
  }
}
