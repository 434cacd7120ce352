/** Shortest value that is taken for a secret: shorter ones would blacken ordinary words. */
const LEAST_LENGTH = 8
const MASK = '[redacted]'

/** Credentials of our own, told by their form: of most the service only knows digests. */
const ownCredentials = /svc_(?:cloud|ai)_live_[A-Za-z0-9_-]{16,}/

/**
 * The secrets that a process knows, and how its words are cleaned of them. Whatever leaves the process as an event, a
 * log line or an error goes through the one instance below; who learns a secret adds it.
 */
export class Redactor {
  readonly #known = new Map<string, number>()
  #pattern: RegExp = new RegExp(ownCredentials, 'g')

  /** Adds secrets until the returned handle is disposed of. */
  add(...secrets: readonly string[]): Disposable {
    const taken = secrets.filter(secret => secret.length >= LEAST_LENGTH)
    for (const secret of taken) this.#known.set(secret, (this.#known.get(secret) ?? 0) + 1)
    this.#compile()
    return {
      [Symbol.dispose]: () => {
        for (const secret of taken) {
          const left = (this.#known.get(secret) ?? 1) - 1
          if (left > 0) this.#known.set(secret, left)
          else this.#known.delete(secret)
        }
        this.#compile()
      },
    }
  }

  /** Text without the secrets in it. */
  text(text: string): string {
    this.#pattern.lastIndex = 0
    return this.#pattern.test(text) ? text.replaceAll(this.#pattern, MASK) : text
  }

  /**
   * As `text`, for text that may have been cut: the beginning of a secret that stands at the very end is taken out too,
   * where it is long enough to tell.
   */
  cutText(text: string): string {
    const clean = this.text(text)
    for (const secret of this.#known.keys()) {
      for (let length = Math.min(secret.length - 1, clean.length); length >= LEAST_LENGTH; length -= 1) {
        if (clean.endsWith(secret.slice(0, length))) return clean.slice(0, -length) + MASK
      }
    }
    return clean
  }

  /** A JSON value without the secrets in its strings and keys. */
  value(value: unknown): unknown {
    if (typeof value === 'string') return this.cutText(value)
    if (Array.isArray(value)) return value.map(item => this.value(item))
    if (value === null || typeof value !== 'object' || value instanceof Date) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [this.text(key), this.value(member)]))
  }

  /** Longest first, so that a secret that contains another is taken whole. */
  #compile(): void {
    const known = [...this.#known.keys()].sort((a, b) => b.length - a.length).map(secret => RegExp.escape(secret))
    this.#pattern = new RegExp([...known, ownCredentials.source].join('|'), 'g')
  }
}

/** The secrets of this process. There is one: a secret is a secret wherever the process speaks. */
export const knownSecrets = new Redactor()
