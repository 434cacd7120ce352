/** Reads a stream of UTF-8 to its end and returns at most so many of its last bytes, from the start of a line on. */
export async function tailOf(chunks: AsyncIterable<Uint8Array>, mostBytes: number): Promise<string> {
  let kept: Buffer[] = []
  let size = 0
  let cut = false
  for await (const chunk of chunks) {
    kept.push(Buffer.from(chunk))
    size += chunk.length
    // Copied only once as much again has come, so each byte is copied at most twice.
    if (size > 2 * mostBytes) {
      const last = Buffer.concat(kept).subarray(-mostBytes)
      ;[kept, size, cut] = [[last], last.length, true]
    }
  }
  return toText(Buffer.concat(kept), mostBytes, cut)
}

/** Returns the end of a text: at most so many bytes of UTF-8, from the start of a line on. */
export const endOf = (text: string, mostBytes: number): string => toText(Buffer.from(text), mostBytes, false)

function toText(bytes: Buffer, mostBytes: number, cut: boolean): string {
  if (!cut && bytes.length <= mostBytes) return bytes.toString()
  const last = bytes.subarray(Math.max(0, bytes.length - mostBytes))
  const line = last.indexOf(0x0a)
  if (line !== -1 && line < last.length - 1) return last.subarray(line + 1).toString()
  // One line without an end: its first bytes may be half a character.
  return last.subarray(last.findIndex(byte => (byte & 0xc0) !== 0x80)).toString()
}
