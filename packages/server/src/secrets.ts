/** Shortest value that is taken for a secret: shorter ones would blacken ordinary words. */
const LEAST_LENGTH = 8
/** No longer than what it stands for, so that text within a bound stays within it. */
const MASK = '[secret]'

/** Credentials of our own, told by their form: of most the service only knows digests. */
const ownCredential = /svc_(?:(?:cloud|ai)_live|run)_[A-Za-z0-9_-]{16,}/
const cutOwnCredential = /svc_(?:(?:cloud|ai)_live|run)_[A-Za-z0-9_-]{8,}$/

/**
 * The secrets that a process knows, and how its words are cleaned of them. Whatever leaves the process as an event, a
 * log line or an error goes through the one instance below; who learns a secret adds it.
 */
export class Redactor {
  /** How many hold each secret, by every way it may be written. */
  readonly #known = new Map<string, number>()
  #pattern: RegExp = new RegExp(ownCredential, 'g')

  /** Adds secrets until the returned handle is disposed of. */
  add(...secrets: readonly string[]): Disposable {
    const taken = secrets.flatMap(writtenForms)
    for (const form of taken) this.#known.set(form, (this.#known.get(form) ?? 0) + 1)
    this.#compile()
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        for (const form of taken) {
          const left = (this.#known.get(form) ?? 1) - 1
          if (left > 0) this.#known.set(form, left)
          else this.#known.delete(form)
        }
        this.#compile()
      },
    }
  }

  /** Text without the secrets in it. */
  text(text: string): string {
    return text.replaceAll(this.#pattern, MASK)
  }

  /**
   * As `text`, for text that may have been cut at either end: the part of a secret that was left there is taken out too,
   * where it is long enough to tell.
   */
  cutText(text: string): string {
    let clean = this.text(text).replace(cutOwnCredential, MASK)
    for (const form of this.#known.keys()) {
      const atEnd = beginningAtEnd(clean, form)
      if (atEnd > 0) clean = clean.slice(0, -atEnd) + MASK
      const atStart = endingAtStart(clean, form)
      if (atStart > 0) clean = MASK + clean.slice(atStart)
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
    const known = [...this.#known.keys()].sort((a, b) => b.length - a.length).map(form => RegExp.escape(form))
    this.#pattern = new RegExp([...known, ownCredential.source].join('|'), 'g')
  }
}

/**
 * The ways in which a secret turns up: as it is, as a string of JSON (a log line, a tool's answer) and as one within
 * another; without the blank space around it, which shells drop; and, of a key of several lines, each line, since
 * whatever prints files indents and numbers them.
 */
function writtenForms(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map(line => line.trim())
  const parts = lines.length === 1 ? [] : lines.filter(line => !line.startsWith('-----'))
  const forms = [secret, secret.trim(), ...parts].flatMap(form => {
    const escaped = escapeJson(form)
    return [form, escaped, escapeJson(escaped)]
  })
  return [...new Set(forms)].filter(form => form.length >= LEAST_LENGTH)
}

const escapeJson = (text: string) => JSON.stringify(text).slice(1, -1)

/** Length of the longest beginning of a secret, short of all of it, that a text ends with; 0 where it is too short. */
function beginningAtEnd(text: string, secret: string): number {
  if (text.length < LEAST_LENGTH) return 0
  const last = text.slice(-LEAST_LENGTH)
  let from = secret.length - LEAST_LENGTH - 1
  while (from >= 0) {
    const at = secret.lastIndexOf(last, from)
    if (at === -1) return 0
    const length = at + LEAST_LENGTH
    if (text.endsWith(secret.slice(0, length))) return length
    from = at - 1
  }
  return 0
}

/** Length of the longest ending of a secret, short of all of it, that a text begins with; 0 where it is too short. */
function endingAtStart(text: string, secret: string): number {
  if (text.length < LEAST_LENGTH) return 0
  const first = text.slice(0, LEAST_LENGTH)
  for (let at = secret.indexOf(first, 1); at !== -1; at = secret.indexOf(first, at + 1)) {
    if (text.startsWith(secret.slice(at))) return secret.length - at
  }
  return 0
}

/** The secrets of this process. There is one: a secret is a secret wherever the process speaks. */
export const knownSecrets = new Redactor()
