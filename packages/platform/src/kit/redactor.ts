/** Shortest value that counts as a secret: masking shorter ones would hide ordinary words. */
const LEAST_LENGTH = 8
/** Returns whether a value is long enough to be masked. */
export const isMaskable = (value: string): boolean => value.length >= LEAST_LENGTH

/** No longer than any secret, so masked text never exceeds a limit that the original met. */
const MASK = '[secret]'

/** The form of our own credentials. For most of them the service stores only a digest. */
const ownCredential = /svc_(?:(?:cloud|ai)_live|run)_[A-Za-z0-9_-]{16,}/
/** GitHub's tokens: of people, apps and installations, with the longer one that carries a JWT, and fine-grained ones. */
const gitHubToken =
  /gh[oprsu]_(?:[A-Za-z0-9]{36,}|[0-9]+_eyJ[\w-]+\.[\w-]+\.[\w-]+)|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/
/** An installation's token as git sends it: `x-access-token:` and the token, in base64. */
const gitHubBasic = /eC1hY2Nlc3MtdG9rZW46[A-Za-z0-9+/]{16,}={0,2}/
/** All credentials that are masked by their form, whoever has them. */
const knownForms = [ownCredential, gitHubToken, gitHubBasic].map(({ source }) => source).join('|')
/** The beginnings of these forms, and the characters that may follow them. */
const beginnings = ['svc_', 'gho_', 'ghp_', 'ghr_', 'ghs_', 'ghu_', 'github_pat_', 'eC1hY2Nlc3MtdG9rZW46'] as const
const following = /[\w.+/=-]/
/** Upper limit of the length of a credential that a form recognises in a text that arrives in pieces. */
const OWN_LENGTH = 128
/** If only the beginning of a text is wanted, it is masked in pieces of this many characters. */
const PIECE_LENGTH = 16 * 1024
/** JSON nested deeper is left out. The log's own limit is lower, and a deeper walk could exhaust the stack. */
const MAX_DEPTH = 100

/**
 * Masks secrets in text: the given values in all their written forms, and our own credentials and GitHub's tokens by
 * form. It masks only whole matches. If it also masked part of a secret at the end of a text, a writer could learn the secret character by
 * character from the texts that change. So text must be masked before it is cut.
 */
export class Redactor {
  readonly #pattern: RegExp
  #anyCase: RegExp | undefined
  readonly #forms: readonly string[]
  /** Length of the longest written form of a secret; 0 without secrets. */
  readonly #longestSecret: number

  constructor(secrets: Iterable<string> = []) {
    const forms = [...new Set([...secrets].flatMap(writtenForms))].sort((a, b) => b.length - a.length)
    // The longest form comes first, so that a secret that contains another is masked whole.
    this.#pattern = new RegExp([...forms.map(form => RegExp.escape(form)), knownForms].join('|'), 'g')
    this.#forms = forms
    this.#longestSecret = forms[0]?.length ?? 0
  }

  /** Returns the text with every secret masked. */
  text(text: string): string {
    return text.replaceAll(this.#pattern, MASK)
  }

  /** The same of text in which letters may have lost their case, as in the name of a host. */
  anyCase(text: string): string {
    this.#anyCase ??= new RegExp(this.#pattern, 'gi')
    return text.replaceAll(this.#anyCase, MASK)
  }

  /** Returns a JSON value with the secrets masked in its strings and in the keys of its objects. */
  value(value: unknown): unknown {
    return this.#value(value, MAX_DEPTH)
  }

  /** Masks text that arrives in pieces, however it is divided. */
  stream(): MaskingStream {
    return new MaskingStream(this.#pattern, this.#forms, Math.max(this.#longestSecret, OWN_LENGTH))
  }

  /**
   * Returns the beginning of the masked text: more than `length` UTF-16 units, or all of it. Masking comes before the
   * caller's cut, and an endless text costs no more than its beginning.
   * @param isCut whether the writer has cut the text's end, perhaps within a secret. Then as many characters of the end
   * as the longest secret has are dropped.
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
   * @param isCut whether the writer has cut the text's beginning, perhaps within a secret. Then as many characters of
   * it as the longest secret has are dropped.
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

/** Masks the pieces of one text. It holds back characters that may still become part of a secret. */
export class MaskingStream {
  readonly #pattern: RegExp
  readonly #forms: readonly string[]
  readonly #longest: number
  #held = ''

  /**
   * @param forms the forms that `pattern` matches literally
   * @param longest length of the longest match
   */
  constructor(pattern: RegExp, forms: readonly string[], longest: number) {
    this.#pattern = pattern
    this.#forms = forms
    this.#longest = longest
  }

  /** Returns the masked text that this piece completes. */
  push(piece: string): string {
    this.#held += piece
    // Searching less often than pieces arrive keeps the cost linear in the text.
    return this.#held.length < 2 * this.#longest ? '' : this.#release(this.#held.length - this.#longest)
  }

  /**
   * Returns the masked text that no further piece can change, while the next piece is awaited. It costs a look at
   * everything that is held back, so callers ask seldom.
   */
  settled(): string {
    return this.#release(this.#held.length - this.#unsettled())
  }

  /**
   * Returns the rest, after the last piece. If the text was cut, it drops as many characters as the longest match has.
   */
  end(isCut = false): string {
    return this.#release(this.#held.length - (isCut ? this.#longest : 0))
  }

  /** Returns the length of the longest end of the held text that may still become part of a secret. */
  #unsettled(): number {
    const own = beginningOfCredential(this.#held)
    const byBeginning = Map.groupBy(this.#forms, form => form.slice(0, LEAST_LENGTH))
    for (let at = Math.max(0, this.#held.length - this.#longest); at < this.#held.length; at += 1) {
      const beginning = this.#held.slice(at, at + LEAST_LENGTH)
      const candidates = beginning.length < LEAST_LENGTH ? this.#forms : (byBeginning.get(beginning) ?? [])
      const length = this.#held.length - at
      if (candidates.some(form => form.length > length && this.#held.endsWith(form.slice(0, length))))
        return Math.max(own, length)
    }
    return own
  }

  /**
   * Releases the text up to `until`. A match that begins before it is complete: the longest alternative fits behind it.
   */
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

/** Returns the length of the end of a text that may be the beginning of a credential with a known form. */
function beginningOfCredential(text: string): number {
  let start = text.length
  while (start > 0 && text.length - start < OWN_LENGTH && following.test(text.charAt(start - 1))) start -= 1
  const word = text.slice(start)
  const lengths = beginnings.map(beginning => {
    const whole = word.indexOf(beginning)
    if (whole !== -1) return word.length - whole
    for (let length = Math.min(beginning.length - 1, word.length); length > 0; length -= 1) {
      if (word.endsWith(beginning.slice(0, length))) return length
    }
    return 0
  })
  return Math.max(...lengths)
}

/** Masks by form alone, which is enough for a Session without secrets. */
export const ownCredentials = new Redactor()

/** Returns true if a secret is masked by its form alone, wherever it appears, so that no Session has to remember it. */
export function isMaskedByForm(secret: string): boolean {
  return secret.length <= OWN_LENGTH && ownCredentials.text(secret) === MASK
}

/**
 * The deployment's secrets that this process knows. They are masked in log lines and in logged errors, which operators
 * read. Never use it for text that tenants read: a mask would confirm a tenant's guess of a key.
 */
export class ProcessSecrets {
  /** The number of holders of each secret. */
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

/** The secrets of this process, masked in everything that it logs. */
export const knownSecrets = new ProcessSecrets()

/**
 * Returns the written forms of a secret to mask: those of its whole value, also in base64, and of each line of a multi-line
 * key, because programs that print files indent and number lines.
 */
function writtenForms(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map(line => line.trim())
  const parts = lines.length === 1 ? [] : lines.filter(line => !line.startsWith('-----'))
  return [...new Set([...[secret, ...parts].flatMap(wholeForms), ...base64Forms(secret)])]
}

/**
 * Returns the forms of a value in base64 and base64url, alone or at any place of a longer text that is encoded, such as
 * `user:secret`. Of characters that also depend on a neighbour, only those of the value alone and of its line are taken.
 */
function base64Forms(secret: string): string[] {
  const value = Buffer.from(secret)
  const alone = [value, Buffer.concat([value, Buffer.from('\n')])].map(text => text.toString('base64'))
  const within = [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), value])
      .toString('base64')
      .replace(/=+$/, '')
    const isShared = (before + value.length) % 3 !== 0
    return text.slice(before === 0 ? 0 : before + 1, isShared ? -1 : undefined)
  })
  const forms = [...alone, ...alone.map(text => text.replace(/=+$/, '')), ...within]
  return [...forms, ...forms.map(toUrl)].filter(isMaskable)
}

const toUrl = (base64: string): string => base64.replaceAll('+', '-').replaceAll('/', '_')

/**
 * Returns the forms in which a secret's whole value is written: as is, as a JSON string (a log line, a tool's answer),
 * and as a JSON string within another; and each without surrounding white space, which shells drop. A form that is too
 * short to be a secret is left out.
 */
export function wholeForms(secret: string): string[] {
  const forms = [secret, secret.trim()].flatMap(form => {
    const escaped = escapeJson(form)
    return [form, escaped, escapeJson(escaped)]
  })
  return [...new Set(forms)].filter(isMaskable)
}

const escapeJson = (text: string) => JSON.stringify(text).slice(1, -1)
