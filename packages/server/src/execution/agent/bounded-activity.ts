import type { Redactor } from '../../kit/redactor.ts'
import { cutMasked, MAX_TEXT_BYTES, storable } from '../../sessions/log/bounded-text.ts'

/** A file as it was and as it is. */
export interface Diff {
  readonly path: string
  readonly oldText: string
  readonly newText: string
}

/** All sides of an activity's diffs together; what is beyond is left out whole. */
const MAX_DIFFS_BYTES = 1024 * 1024
/** Longest path that Linux takes. */
const MAX_PATH_BYTES = 4096
/** Readers of JSON give up at some depth, and so does V8's writer: by an exception. */
const MAX_DEPTH = 64

/** Masks each side of each diff and cuts it, and leaves out those that are too many. */
export function boundDiffs(
  given: readonly Diff[],
  redactor: Redactor,
): { readonly diffs: readonly Diff[]; readonly truncated: boolean } {
  const diffs: Diff[] = []
  let bytes = 0
  let truncated = false
  for (const diff of given) {
    const parts = [
      cutMasked(redactor, diff.path, MAX_PATH_BYTES),
      cutMasked(redactor, diff.oldText),
      cutMasked(redactor, diff.newText),
    ]
    const [path = '', oldText = '', newText = ''] = parts.map(part => part.text)
    bytes += [path, oldText, newText].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    if (bytes > MAX_DIFFS_BYTES) return { diffs, truncated: true }
    truncated ||= parts.some(part => part.truncated)
    diffs.push({ path, oldText, newText })
  }
  return { diffs, truncated }
}

/**
 * A tool's input as an event can hold it. One that is too long or too deep is left out whole: half a JSON value says
 * something else than the whole.
 */
export function boundInput(
  given: unknown,
  maxBytes: number = MAX_TEXT_BYTES,
): { readonly value: unknown; readonly truncated: boolean } {
  if (given === undefined) return { value: undefined, truncated: false }
  const left = { bytes: maxBytes }
  const value = copy(given, MAX_DEPTH, left)
  const fits = value !== undefined && Buffer.byteLength(JSON.stringify(value)) <= maxBytes
  return fits ? { value, truncated: false } : { value: undefined, truncated: true }
}

/** Copies a value of `JSON.parse` with its texts made storable; undefined once it cannot fit any more. */
function copy(value: unknown, depth: number, left: { bytes: number }): unknown {
  left.bytes -= typeof value === 'string' ? value.length + 2 : 1
  if (left.bytes < 0) return undefined
  if (typeof value === 'string') return storable(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return undefined
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value) {
      const copied = copy(item, depth - 1, left)
      if (copied === undefined) return undefined
      items.push(copied)
    }
    return items
  }
  const members: [string, unknown][] = []
  for (const [name, member] of Object.entries(value)) {
    left.bytes -= name.length + 3
    const copied = copy(member, depth - 1, left)
    if (copied === undefined) return undefined
    members.push([storable(name), copied])
  }
  return Object.fromEntries(members)
}
