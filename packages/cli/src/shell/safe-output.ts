const esc = 0x1b
const bellByte = 0x07
/** CAN and SUB end a sequence in every terminal. */
const aborts: ReadonlySet<number> = new Set([0x18, 0x1a])
/** Second bytes of the sequences that carry a string: DCS, SOS, OSC, PM and APC. */
const strings: ReadonlySet<number> = new Set([...'PX]^_'].map(letter => letter.charCodeAt(0)))
/** The same as characters of their own, which UTF-8 spells with C2 first. */
const lead = 0xc2
const wideStrings: ReadonlySet<number> = new Set([0x90, 0x98, 0x9d, 0x9e, 0x9f])
const wideEnd = 0x9c

const lineFeed = 0x0a
const carriageReturn = 0x0d
/**
 * Moves down in the same column, as a line feed does on a terminal in raw mode. Node's raw mode turns line feeds into new
 * lines all the same (libuv keeps ONLCR), and full-screen programs need no change.
 */
const index = [esc, 0x44] as const

type Place = 'text' | 'escape' | 'lead' | 'string' | 'string escape' | 'string lead'

/**
 * Takes those sequences out of a terminal's output that reach beyond its screen: titles, the clipboard, notifications,
 * links, pictures and the terminal's own commands. Programs of an agent print them as any others do. Colours, the
 * cursor and full-screen programs stay as they are.
 */
export class SafeOutput {
  #place: Place = 'text'
  #last = 0

  /** Returns the next piece without them; a sequence may go on in the piece after it. */
  read(piece: Uint8Array): Uint8Array {
    const kept = new Uint8Array(2 * piece.length + 1)
    let length = 0
    const keep = (...bytes: readonly number[]) => {
      for (const byte of bytes) kept[length++] = byte
    }
    for (const byte of piece) {
      const last = this.#last
      this.#last = byte
      switch (this.#place) {
        case 'text':
          if (byte === esc) this.#place = 'escape'
          else if (byte === lead) this.#place = 'lead'
          else if (byte === lineFeed && last !== carriageReturn) keep(...index)
          else keep(byte)
          break
        case 'escape':
          if (strings.has(byte)) this.#place = 'string'
          else if (byte === esc) keep(esc)
          else {
            keep(esc, byte)
            this.#place = 'text'
          }
          break
        case 'lead':
          if (wideStrings.has(byte)) this.#place = 'string'
          else if (byte === esc || byte === lead) {
            keep(lead)
            this.#place = byte === esc ? 'escape' : 'lead'
          } else {
            keep(lead, byte)
            this.#place = 'text'
          }
          break
        case 'string escape':
          // ESC ends the string, even without a backslash after it; only the backslash belongs to the end.
          if (byte === 0x5c) this.#place = 'text'
          else if (strings.has(byte)) this.#place = 'string'
          else if (byte !== esc) {
            keep(esc, byte)
            this.#place = 'text'
          }
          break
        default:
          this.#place = this.#inString(byte)
      }
    }
    return kept.subarray(0, length)
  }

  #inString(byte: number): Place {
    if (byte === bellByte || aborts.has(byte)) return 'text'
    if (this.#place === 'string lead' && byte === wideEnd) return 'text'
    if (byte === esc) return 'string escape'
    return byte === lead ? 'string lead' : 'string'
  }
}
