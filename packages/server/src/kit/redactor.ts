/** Shortest value that counts as a secret: masking shorter ones would blacken ordinary words. */
const LEAST_LENGTH = 8
/** Whether a value is long enough to be masked. */
export const isMaskable = (value: string): boolean => value.length >= LEAST_LENGTH

/** No longer than any secret, so masked text stays within the bound that the text was within. */
const MASK = '[secret]'

/** Credentials of our own have a form. For most of them the service stores nothing but a digest. */
const ownCredential = /svc_(?:(?:cloud|ai)_live|run)_[A-Za-z0-9_-]{16,}/
/** Characters of the longest credential of our own, with room to spare. */
const OWN_LENGTH = 128
/** Text is masked in pieces of this many characters when only its beginning is wanted. */
const PIECE_LENGTH = 16 * 1024
/** JSON that is nested deeper is left out. The log takes less, and a deeper walk would exhaust the stack. */
const MAX_DEPTH = 100

/**
 * Masks secrets in text: the values that it was made with, however they are written, and our own credentials by form.
 *
 * It masks whole matches only. If it also masked the part of a secret at an end of a text, a writer could learn the
 * secret character by character from the texts that change. So text has to be masked before it is cut.
 */
export class Redactor {
  readonly #pattern: RegExp
  /** Characters of the longest way to write one of the secrets; 0 without secrets. */
  readonly #longestSecret: number

  constructor(secrets: Iterable<string> = []) {
    const forms = [...new Set([...secrets].flatMap(writtenForms))].sort((a, b) => b.length - a.length)
    // The longest form first: a secret that contains another one is masked whole.
    this.#pattern = new RegExp([...forms.map(form => RegExp.escape(form)), ownCredential.source].join('|'), 'g')
    this.#longestSecret = forms[0]?.length ?? 0
  }

  /** Returns the text with every secret masked. */
  text(text: string): string {
    return text.replaceAll(this.#pattern, MASK)
  }

  /** Returns a JSON value with the secrets masked in its strings and in the keys of its objects. */
  value(value: unknown): unknown {
    return this.#value(value, MAX_DEPTH)
  }

  /** Masks text that arrives in pieces, whichever way it is divided. */
  stream(): MaskingStream {
    return new MaskingStream(this.#pattern, Math.max(this.#longestSecret, OWN_LENGTH))
  }

  /**
   * Returns the masked text, for a caller that keeps about the first `length` UTF-16 units of it: what is left out comes
   * after those. Masking comes before the caller's cut, and an endless text costs no more than its beginning.
   * @param isCut whether the writer has cut the text's end, perhaps within a secret. Then as many characters of the end
   *   as the longest secret has are left out, whatever they are.
   */
  beginning(text: string, length: number, isCut = false): string {
    const stream = this.stream()
    let masked = ''
    for (let at = 0; at < text.length; at += PIECE_LENGTH) {
      masked += stream.push(text.slice(at, at + PIECE_LENGTH))
      if (masked.length > length) return masked
    }
    return masked + stream.end(isCut && this.#longestSecret > 0)
  }

  /**
   * Returns the masked text.
   * @param isCut whether the writer has cut the text's beginning, perhaps within a secret. Then as many characters of it as
   *   the longest secret has are left out, whatever they are.
   */
  ending(text: string, isCut: boolean): string {
    const masked = this.text(text)
    return isCut ? masked.slice(this.#longestSecret).toWellFormed() : masked
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(value)
    if (value === null || typeof value !== 'object' || value instanceof Date) return value
    if (depth === 0) return null
    if (Array.isArray(value)) return value.map(item => this.#value(item, depth - 1))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [this.text(key), this.#value(member, depth - 1)]),
    )
  }
}

/** Masks the pieces of one text. It holds back the characters that may still become a secret. */
export class MaskingStream {
  readonly #pattern: RegExp
  readonly #longest: number
  #held = ''

  /** @param longest characters of the longest match */
  constructor(pattern: RegExp, longest: number) {
    this.#pattern = pattern
    this.#longest = longest
  }

  /** Returns the masked text that is final with this piece. */
  push(piece: string): string {
    this.#held += piece
    // Searching less often than pieces come keeps the cost linear in the text.
    return this.#held.length < 2 * this.#longest ? '' : this.#release(this.#held.length - this.#longest)
  }

  /** Returns the rest, after the last piece; of a text that was cut, without the characters of the longest match. */
  end(isCut = false): string {
    return this.#release(this.#held.length - (isCut ? this.#longest : 0))
  }

  /** A match that begins before `until` is whole in what is held: the longest alternative fits behind it. */
  #release(until: number): string {
    let masked = ''
    let done = 0
    for (const match of this.#held.matchAll(this.#pattern)) {
      if (match.index >= until) break
      masked += this.#held.slice(done, match.index) + MASK
      done = match.index + match[0].length
    }
    const end = Math.max(done, until, 0)
    masked += this.#held.slice(done, end)
    this.#held = this.#held.slice(end)
    return masked
  }
}

/** Masks by form alone. It is all that a Session without secrets needs. */
export const ownCredentials = new Redactor()

/**
 * The secrets of the deployment that this process knows. They are masked in what operators read: log lines and the
 * errors in them. Text that tenants read must never go through here: whether a mask appears would tell a tenant whether
 * a guess of a key was right.
 */
export class ProcessSecrets {
  /** How many holders each secret has. */
  readonly #holders = new Map<string, number>()
  #redactor = new Redactor()

  /** Adds secrets until the returned handle is disposed of. */
  add(...secrets: readonly string[]): Disposable {
    for (const secret of secrets) this.#holders.set(secret, (this.#holders.get(secret) ?? 0) + 1)
    this.#redactor = new Redactor(this.#holders.keys())
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        for (const secret of secrets) {
          const left = (this.#holders.get(secret) ?? 1) - 1
          if (left > 0) this.#holders.set(secret, left)
          else this.#holders.delete(secret)
        }
        this.#redactor = new Redactor(this.#holders.keys())
      },
    }
  }

  /** Returns text for operators with every secret masked. Mask before you cut. */
  text(text: string): string {
    return this.#redactor.text(text)
  }
}

/** The secrets of this process, masked in all that it logs. */
export const knownSecrets = new ProcessSecrets()

/**
 * Returns the ways in which a secret turns up: as it is, as a string of JSON (a log line, a tool's answer) and as one
 * within another; without the white space around it, which shells drop; and, of a key of several lines, each line, since
 * programs that print files indent and number them.
 */
function writtenForms(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map(line => line.trim())
  const parts = lines.length === 1 ? [] : lines.filter(line => !line.startsWith('-----'))
  const forms = [secret, secret.trim(), ...parts].flatMap(form => {
    const escaped = escapeJson(form)
    return [form, escaped, escapeJson(escaped)]
  })
  return [...new Set(forms)].filter(isMaskable)
}

const escapeJson = (text: string) => JSON.stringify(text).slice(1, -1)
