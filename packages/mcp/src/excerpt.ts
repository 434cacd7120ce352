/** Joins paragraphs to a text. However many there are, it holds no more than the beginning and the end of that text. */
export class Excerpt {
  readonly #half: number
  #beginning = ''
  #end = ''
  #isBeginningFull = false
  #leftOut = 0

  /** @param most characters of the text, besides the line that says how many were left out */
  constructor(most: number) {
    this.#half = Math.floor(most / 2)
  }

  add(paragraph: string): void {
    const isFirst = this.#beginning === '' && !this.#isBeginningFull
    let rest = isFirst ? paragraph : `\n\n${paragraph}`
    if (!this.#isBeginningFull) {
      const room = this.#half - this.#beginning.length
      this.#beginning += rest.slice(0, room)
      this.#isBeginningFull = this.#beginning.length === this.#half
      rest = rest.slice(room)
    }
    const end = this.#end + rest
    this.#end = end.slice(-this.#half)
    this.#leftOut += end.length - this.#end.length
  }

  get text(): string {
    const middle = this.#leftOut === 0 ? '' : `\n[${this.#leftOut} characters left out]\n`
    return `${this.#beginning}${middle}${this.#end}`
  }
}
