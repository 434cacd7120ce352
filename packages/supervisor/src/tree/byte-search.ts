/** The root of the trie. It always has a row. */
const ROOT = 0
const ROW = 256

/**
 * Finds any of many byte strings in one pass, however many there are and however the text is divided (an Aho-Corasick
 * automaton). The cost of a byte does not depend on what the strings or the text hold, so neither can slow the search
 * down. Memory is some ten bytes for each byte of the strings: only a node with several children has a row of them.
 */
export class ByteSearch {
  /** The only child of a node, 0 for none; or -1 less the number of its row. */
  readonly #child: Int32Array
  /** The byte that leads to the only child. */
  readonly #label: Uint8Array
  /** The node of the longest suffix that also begins a string. */
  readonly #fallback: Int32Array
  /** 1 if a string ends at the node. */
  readonly #ends: Uint8Array
  #rows = new Int32Array(ROW)
  #rowCount = 1
  #nodes = 1

  /** @param strings to find; empty ones are left out */
  constructor(strings: Iterable<Uint8Array>) {
    const all = [...strings].filter(bytes => bytes.length > 0)
    const most = all.reduce((sum, bytes) => sum + bytes.length, 1)
    this.#child = new Int32Array(most)
    this.#label = new Uint8Array(most)
    this.#fallback = new Int32Array(most)
    this.#ends = new Uint8Array(most)
    this.#child[ROOT] = -1
    for (const bytes of all) this.#add(bytes)
    this.#linkFallbacks()
  }

  /** True if there is nothing to find. */
  get isEmpty(): boolean {
    return this.#nodes === 1
  }

  /** Returns true if the bytes hold one of the strings. */
  isIn(bytes: Uint8Array): boolean {
    return this.stream()(bytes)
  }

  /** Returns a function that takes the pieces of one text in order, and returns true once a string was found. */
  stream(): (piece: Uint8Array) => boolean {
    let state = ROOT
    return piece => {
      state = this.#ends[state] === 1 ? state : this.#walk(state, piece)
      return this.#ends[state] === 1
    }
  }

  /** Returns the node after a piece, or the first at which a string ends. */
  #walk(from: number, piece: Uint8Array): number {
    const [child, label, fallback, ends, rows] = [this.#child, this.#label, this.#fallback, this.#ends, this.#rows]
    const { length } = piece
    let state = from
    for (let at = 0; at < length; at++) {
      const byte = piece[at] ?? 0
      for (;;) {
        const to = child[state] ?? 0
        const next = to < 0 ? (rows[(-1 - to) * ROW + byte] ?? 0) : label[state] === byte ? to : 0
        if (next !== 0) {
          state = next
          break
        }
        if (state === ROOT) break
        state = fallback[state] ?? 0
      }
      if (ends[state] === 1) return state
    }
    return state
  }

  #add(bytes: Uint8Array): void {
    let state = ROOT
    for (const byte of bytes) {
      // A string that begins with another is found with it.
      if (this.#ends[state] === 1) return
      const next = this.#next(state, byte)
      state = next === 0 ? this.#grow(state, byte) : next
    }
    this.#ends[state] = 1
  }

  #next(state: number, byte: number): number {
    const to = this.#child[state] ?? 0
    if (to < 0) return this.#rows[(-1 - to) * ROW + byte] ?? 0
    return this.#label[state] === byte ? to : 0
  }

  #grow(state: number, byte: number): number {
    const node = this.#nodes++
    const to = this.#child[state] ?? 0
    if (to === 0) {
      this.#child[state] = node
      this.#label[state] = byte
      return node
    }
    const row = to < 0 ? -1 - to : this.#addRow(state, to)
    this.#rows[row * ROW + byte] = node
    return node
  }

  /** Gives a node with one child a row. */
  #addRow(state: number, onlyChild: number): number {
    const row = this.#rowCount++
    if (this.#rowCount * ROW > this.#rows.length) {
      const larger = new Int32Array(this.#rows.length * 2)
      larger.set(this.#rows)
      this.#rows = larger
    }
    this.#rows[row * ROW + (this.#label[state] ?? 0)] = onlyChild
    this.#child[state] = -1 - row
    return row
  }

  /** Goes through the trie by depth: a fallback is always nearer to the root. */
  #linkFallbacks(): void {
    const queue = new Int32Array(this.#nodes)
    let end = 1
    for (let at = 0; at < end; at++) {
      const state = queue[at] ?? 0
      for (const [byte, node] of this.#children(state)) {
        queue[end++] = node
        let shorter = this.#fallback[state] ?? 0
        while (shorter !== ROOT && this.#next(shorter, byte) === 0) shorter = this.#fallback[shorter] ?? 0
        if (state !== ROOT) this.#fallback[node] = this.#next(shorter, byte)
        if (this.#ends[this.#fallback[node] ?? 0] === 1) this.#ends[node] = 1
      }
    }
  }

  *#children(state: number): Generator<readonly [byte: number, node: number]> {
    const to = this.#child[state] ?? 0
    if (to > 0) yield [this.#label[state] ?? 0, to]
    if (to >= 0) return
    const row = (-1 - to) * ROW
    for (let byte = 0; byte < ROW; byte++) {
      const node = this.#rows[row + byte] ?? 0
      if (node !== 0) yield [byte, node]
    }
  }
}
