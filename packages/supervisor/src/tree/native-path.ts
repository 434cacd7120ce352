// biome-ignore lint/suspicious/noControlCharactersInRegex: every byte below 128 counts, control characters too
const ascii = /^[\x00-\x7f]*$/

/** Returns a path of bytes in a form for file system calls; Node would encode other characters of a string as UTF-8. */
export function nativePath(path: string): string | Buffer {
  return ascii.test(path) ? path : Buffer.from(path, 'latin1')
}
