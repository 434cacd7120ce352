import { cutMasked, MAX_TEXT_BYTES, storable } from '@berth/core/sessions/log/bounded-text.ts'
import type { Redactor } from '@berth/platform/kit/redactor.ts'

/** A file before and after a change. */
export interface Diff {
  readonly path: string
  readonly oldText: string
  readonly newText: string
}

/** Bound of both sides of all diffs of an activity together; diffs beyond it are left out whole. */
const MAX_DIFFS_BYTES = 1024 * 1024
/** Longest path that Linux accepts. */
const MAX_PATH_BYTES = 4096
/** JSON readers give up at some depth; V8's writer does so with an exception. */
const MAX_DEPTH = 64

/** Masks and cuts each side of each diff, and leaves out diffs beyond the bound. */
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
 * Returns a tool's input as an event can hold it. An input that is too long or too deep is left out whole: half a JSON
 * value means something else.
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

/** Copies a value of `JSON.parse` with storable texts; undefined if it cannot fit. */
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
