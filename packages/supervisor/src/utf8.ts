/** Returns the longest beginning of UTF-8 `bytes` of at most `maxBytes` that ends between two characters. */
export function keepStart(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length <= maxBytes) return bytes
  let end = maxBytes
  while (end > 0 && isContinuation(bytes[end])) end -= 1
  return bytes.subarray(0, end)
}

/** Returns the longest end of UTF-8 `bytes` of at most `maxBytes` that starts at a character. */
export function keepEnd(bytes: Buffer, maxBytes: number): Buffer {
  let start = Math.max(0, bytes.length - maxBytes)
  while (start > 0 && start < bytes.length && isContinuation(bytes[start])) start += 1
  return bytes.subarray(start)
}

/** Decodes arbitrary bytes: invalid UTF-8, and U+0000, which no Event can hold, become U+FFFD. */
export function toText(bytes: Buffer): string {
  return bytes.toString().replaceAll('\0', '\uFFFD')
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
