/** Bound of the text of all pages, in UTF-16 units; a log is mostly ASCII, so about as many bytes. */
const MAX_LENGTH = 16 * 1024 * 1024

/**
 * Caches full pages of logs by their first position. A full page can never change, so it needs no invalidation. It
 * holds no authority, which each request checks. The least recently used page goes first.
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
