/** A range of bytes, both ends included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Reads a `Range` header for content of a known size (RFC 9110, 14.2). It ignores a header that is not a single byte
 * range, as the standard allows, so the caller answers the whole content.
 * @returns the range, null for the whole, or `unsatisfiable` if it lies outside the content
 */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange | null | 'unsatisfiable' {
  const match = header?.match(/^bytes=(\d*)-(\d*)$/i)
  if (!match) return null
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return null
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes)
    return length === 0 ? 'unsatisfiable' : { start: sizeBytes - length, end: sizeBytes - 1 }
  }
  const start = Number(first)
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)
  if (last !== '' && Number(last) < start) return null
  return start >= sizeBytes ? 'unsatisfiable' : { start, end }
}

/** Yields the bytes of a range of content that arrives in pieces, and stops reading at the range's end. */
export async function* cutRange(
  whole: AsyncIterable<Uint8Array>,
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array> {
  let position = 0
  for await (const piece of whole) {
    const from = Math.max(0, start - position)
    const to = Math.min(piece.length, end + 1 - position)
    if (from < to) yield piece.subarray(from, to)
    position += piece.length
    if (position > end) return
  }
}
