// biome-ignore lint/suspicious/noControlCharactersInRegex: every byte below 128 counts, control characters too
const ascii = /^[\x00-\x7f]*$/

/** A path of bytes as the file system calls take it: Node would write other characters of a string as UTF-8. */
export function nativePath(path: string): string | Buffer {
  return ascii.test(path) ? path : Buffer.from(path, 'latin1')
}
