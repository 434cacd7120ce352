/** A key as `node:readline` tells it. */
export interface Key {
  readonly name?: string | undefined
  readonly sequence?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
}

/** Longest text that the editor takes, in characters: pasted text beyond it is dropped. */
const maxLength = 200_000

/** One text that is typed: no character of it but a line break controls anything. */
export class LineEditor {
  #characters: string[] = []
  #at = 0

  get text(): string {
    return this.#characters.join('')
  }

  set text(text: string) {
    this.#characters = [...text]
    this.#at = this.#characters.length
  }

  /** Inserts text at the cursor. */
  insert(text: string): void {
    const typed = [...text.replace(/\r\n?/g, '\n')].filter(character => character === '\n' || !isControl(character))
    const room = Math.max(0, maxLength - this.#characters.length)
    this.#characters.splice(this.#at, 0, ...typed.slice(0, room))
    this.#at += Math.min(typed.length, room)
  }

  /** Changes the text by a key; returns false if the key means nothing here. */
  press({ name = '', ctrl = false, meta = false, sequence = '' }: Key): boolean {
    const edit = ctrl ? this.#control(name) : meta ? this.#meta(name) : this.#plain(name)
    if (edit !== null) {
      edit()
      return true
    }
    if (ctrl || meta || sequence === '' || [...sequence].some(isControl)) return false
    this.insert(sequence)
    return true
  }

  /** Returns as much of the text as fits, with the cursor in it, and how far the cursor is from its end. */
  shown(columns: number): { readonly text: string; readonly back: number } {
    const all = this.#characters.map(character => (character === '\n' ? '⏎' : character))
    const width = Math.max(4, columns)
    if (all.length < width) return { text: all.join(''), back: all.length - this.#at }
    const start = Math.min(Math.max(0, this.#at - width + 2), all.length - width + 1)
    const part = all.slice(start, start + width - 1)
    return { text: part.join(''), back: start + part.length - this.#at }
  }

  #plain(name: string): (() => void) | null {
    switch (name) {
      case 'backspace':
        return () => this.#cut(this.#at - 1, this.#at)
      case 'delete':
        return () => this.#cut(this.#at, this.#at + 1)
      case 'left':
        return () => this.#go(this.#at - 1)
      case 'right':
        return () => this.#go(this.#at + 1)
      case 'home':
        return () => this.#go(0)
      case 'end':
        return () => this.#go(this.#characters.length)
      default:
        return null
    }
  }

  #control(name: string): (() => void) | null {
    switch (name) {
      case 'a':
        return () => this.#go(0)
      case 'e':
        return () => this.#go(this.#characters.length)
      case 'u':
        return () => this.#cut(0, this.#at)
      case 'k':
        return () => this.#cut(this.#at, this.#characters.length)
      case 'w':
        return () => this.#cut(this.#wordStart(), this.#at)
      case 'h':
        return () => this.#cut(this.#at - 1, this.#at)
      case 'j':
        return () => this.insert('\n')
      case 'left':
        return () => this.#go(this.#wordStart())
      default:
        return null
    }
  }

  #meta(name: string): (() => void) | null {
    return name === 'return' || name === 'enter' ? () => this.insert('\n') : null
  }

  #wordStart(): number {
    let at = this.#at
    while (at > 0 && this.#isSpace(at - 1)) at--
    while (at > 0 && !this.#isSpace(at - 1)) at--
    return at
  }

  #isSpace(at: number): boolean {
    return /\s/.test(this.#characters[at] ?? '')
  }

  #go(at: number): void {
    this.#at = Math.min(Math.max(0, at), this.#characters.length)
  }

  #cut(from: number, to: number): void {
    const start = Math.max(0, from)
    this.#characters.splice(start, Math.max(0, to - start))
    this.#go(start)
  }
}

const isControl = (character: string): boolean => /\p{Cc}/u.test(character)
