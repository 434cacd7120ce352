import { endings, firstMark, stateOf, transitions } from './json-grammar.ts'

const broken = stateOf('broken')
const behind = stateOf('behind')
const openObject = stateOf('{')
const openList = stateOf('[')
const closeObject = stateOf('}')
const comma = stateOf(',')
const firstName = stateOf('name')
const nextName = stateOf('nextName')
const firstItem = stateOf('item')
const nextItem = stateOf('value')
const firstLong = stateOf('longInteger')
const longStates = ['integer', 'fraction', 'exponent'].map(stateOf)

/**
 * Counts the values of a JSON text as its bytes arrive, so that a body can be refused before it is parsed. Each value
 * takes some 100 bytes of memory and a microsecond to parse, however short it is. Every value but the first follows a
 * `{`, `[` or `,` outside strings, so the count is at most one too low.
 *
 * It follows the grammar as well: of a body that is refused, it tells whether it is JSON. Behind the first byte that is
 * against the grammar nothing is counted, as no parser gets any further. UTF-8 is not judged.
 */
export class ValueCounter {
  #count = 0
  #state = stateOf('start')
  #depth = 0
  #deepest = 0
  #holdsLongNumbers = false
  /** Whether the innermost open value is an object; false if none is open. */
  #inObject = false
  /** The same of the values around it, a bit each. */
  #around = new Uint8Array(64)

  /** The number of `{`, `[` and `,` outside strings so far. */
  get count(): number {
    return this.#count
  }

  /** The most values that were open at once. */
  get deepest(): number {
    return this.#deepest
  }

  /** Whether a number so far has more than 15 characters, or an exponent of three digits: JavaScript may not hold it. */
  get holdsLongNumbers(): boolean {
    return this.#holdsLongNumbers
  }

  /** Whether no JSON begins with the bytes so far. */
  get isBroken(): boolean {
    return this.#state === broken
  }

  /** Whether the bytes so far are JSON. */
  get isWhole(): boolean {
    return this.#depth === 0 && endings.has(this.#state)
  }

  /** Reads the next bytes, at some nanoseconds each. */
  take(chunk: Uint8Array): void {
    let [state, count, depth, inObject, around] = [this.#state, this.#count, this.#depth, this.#inObject, this.#around]
    for (let at = 0; at < chunk.length; at += 1) {
      const next = transitions[(state << 8) | (chunk[at] as number)] as number
      if (next < firstMark) state = next
      else if (next === openObject || next === openList) {
        count += 1
        const place = depth >> 3
        if (place === around.length) around = grown(around)
        const bit = 1 << (depth & 7)
        around[place] = inObject ? (around[place] as number) | bit : (around[place] as number) & ~bit
        depth += 1
        if (depth > this.#deepest) this.#deepest = depth
        inObject = next === openObject
        state = inObject ? firstName : firstItem
      } else if (next === comma) {
        count += 1
        state = depth === 0 ? broken : inObject ? nextName : nextItem
      } else if (next >= firstLong) {
        this.#holdsLongNumbers = true
        state = longStates[next - firstLong] as number
      } else if (depth === 0 || inObject !== (next === closeObject)) state = broken
      else {
        depth -= 1
        inObject = (((around[depth >> 3] as number) >> (depth & 7)) & 1) === 1
        state = behind
      }
    }
    this.#state = state
    this.#count = count
    this.#depth = depth
    this.#inObject = inObject
    this.#around = around
  }
}

function grown(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2)
  larger.set(bytes)
  return larger
}
