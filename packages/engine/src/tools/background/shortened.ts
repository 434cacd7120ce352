/** Length of a command wherever it is shown, in bytes; the call that began it has the whole. */
const MAX_SHOWN = 500
const MARK = ' […]'

/** Returns a command as it is shown: its beginning, with a mark if that is not all. */
export function shortened(command: string): string {
  const bytes = Buffer.from(command)
  if (bytes.length <= MAX_SHOWN) return command
  const begin = bytes.subarray(0, wholeCharacters(bytes, MAX_SHOWN - Buffer.byteLength(MARK)))
  return `${begin.toString('utf8')}${MARK}`
}

/** Returns the length of the longest beginning within a bound that cuts no character of UTF-8. */
export function wholeCharacters(bytes: Buffer, most: number): number {
  if (bytes.length <= most) return bytes.length
  let end = most
  while (end > most - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return end
}
