/** Text of pages held in this process, in UTF-16 units; a log is ASCII for the most part, so about as many bytes. */
const MAX_LENGTH = 16 * 1024 * 1024

/**
 * Full pages of logs by where they begin. A page that is full can never change, so it is right for ever and needs no
 * invalidation; it holds no authority, which is judged for each request. What was used longest ago goes first.
 */
export class PageCache {
  readonly #maxLength: number
  readonly #pages = new Map<string, string>()
  #length = 0

  constructor(maxLength: number = MAX_LENGTH) {
    this.#maxLength = maxLength
  }

  get(key: string): string | undefined {
    const page = this.#pages.get(key)
    if (page === undefined) return undefined
    this.#pages.delete(key)
    this.#pages.set(key, page)
    return page
  }

  set(key: string, page: string): void {
    if (page.length > this.#maxLength || this.#pages.has(key)) return
    this.#pages.set(key, page)
    this.#length += page.length
    for (const [oldest, { length }] of this.#pages) {
      if (this.#length <= this.#maxLength) return
      this.#pages.delete(oldest)
      this.#length -= length
    }
  }
}
