import { randomBytes } from 'node:crypto'
import { UsageError } from '../failure.ts'

/** A terminal takes no longer line before its shell reads it. */
const maxLineBytes = 4000

/** A command that is typed into a shell in its place. */
export interface TypedCommand {
  /** The line to type. */
  readonly line: string
  /** Stands in the output where that of the command begins; the echo of the line does not contain it. */
  readonly mark: string
}

/**
 * Returns the line that makes a shell become a command. One word is a command line as a shell reads it; several are a
 * program and its arguments.
 * @throws UsageError if it is too long for a terminal
 */
export function typedCommand(args: readonly string[]): TypedCommand {
  const [only = '', ...others] = args
  const script = others.length === 0 ? only : args.map(quoted).join(' ')
  const [first, second] = [randomBytes(9).toString('base64url'), randomBytes(9).toString('base64url')]
  const line = ` printf '%s%s\\n' '${first}' '${second}'; exec bash -c ${quoted(script)}\r`
  if (Buffer.byteLength(line) > maxLineBytes) {
    throw new UsageError(
      `the command is too long for a terminal (at most about ${maxLineBytes} bytes); put it into a file`,
    )
  }
  return { line, mark: `${first}${second}\r\n` }
}

/**
 * Quotes a word for bash. Characters that a terminal or its line editor would act on are spelt out: control characters, and bytes
 * that are no ASCII, which some editors take for keys.
 */
export function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  const inner = [...Buffer.from(word)].map(byte => {
    if (byte < 0x20 || byte > 0x7e) return `\\x${byte.toString(16).padStart(2, '0')}`
    const character = String.fromCharCode(byte)
    return character === "'" || character === '\\' ? `\\${character}` : character
  })
  return `$'${inner.join('')}'`
}

/** Drops output up to the mark of a command. */
export class AfterMark {
  readonly #mark: Buffer
  readonly #past = Promise.withResolvers<void>()
  #before = Buffer.alloc(0)
  #isPast = false

  constructor(mark: string) {
    this.#mark = Buffer.from(mark)
  }

  /** Resolves once the mark was there: the command reads the terminal from then on. */
  get past(): Promise<void> {
    return this.#past.promise
  }

  read(output: Uint8Array): Uint8Array {
    if (this.#isPast) return output
    const all = Buffer.concat([this.#before, output])
    const at = all.indexOf(this.#mark)
    this.#isPast = at >= 0
    if (this.#isPast) this.#past.resolve()
    this.#before = all.subarray(Math.max(0, all.length - this.#mark.length))
    return this.#isPast ? all.subarray(at + this.#mark.length) : Buffer.alloc(0)
  }
}
