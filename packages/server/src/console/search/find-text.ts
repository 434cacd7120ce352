/** A place in a text, with the text around it. */
export interface Excerpt {
  readonly before: string
  readonly match: string
  readonly after: string
}

const BEFORE = 48
const AFTER = 112

/** Members that hold ids and digests, which nobody reads. */
const UNREAD = /(?:^|[a-z])(?:Id|Oid|Hash|Sha256)$|^(?:id|sha256|oid)$/

/**
 * Finds words in what an Event tells people: the strings within its data, in the order in which they are stored.
 * @returns null if only names or ids contain them
 */
export function findText(data: unknown, query: string): Excerpt | null {
  const wanted = query.toLowerCase()
  for (const text of textsOf(data)) {
    const at = text.toLowerCase().indexOf(wanted)
    // Letters whose small form is longer move the place; the text itself has then no such place.
    if (at !== -1 && text.slice(at, at + query.length).toLowerCase() === wanted)
      return excerptOf(text, at, query.length)
  }
  return null
}

function* textsOf(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const item of value) yield* textsOf(item)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) if (!UNREAD.test(name)) yield* textsOf(member)
  }
}

function excerptOf(text: string, at: number, length: number): Excerpt {
  const [from, to] = [Math.max(0, at - BEFORE), Math.min(text.length, at + length + AFTER)]
  return {
    before: (from > 0 ? '…' : '') + text.slice(from, at),
    match: text.slice(at, at + length),
    after: text.slice(at + length, to) + (to < text.length ? '…' : ''),
  }
}
