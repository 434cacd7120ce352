import { createHash } from 'node:crypto'
import { extname } from 'node:path'

/** Longest file name, in bytes, that file systems accept. */
const mostBytes = 255
const mostExtensionBytes = 32

/**
 * Returns the name of a Turn's file inside the sandbox. Names are bounded in characters, file systems in bytes. A name
 * that is too long keeps its beginning and extension, and gets a digest so that two names never become one.
 */
export function inputFileName(name: string): string {
  if (Buffer.byteLength(name) <= mostBytes) return name
  const whole = extname(name)
  const extension = Buffer.byteLength(whole) <= mostExtensionBytes ? whole : ''
  const rest = `~${createHash('sha256').update(name).digest('hex').slice(0, 12)}${extension}`
  let room = mostBytes - Buffer.byteLength(rest)
  let beginning = ''
  for (const character of name) {
    room -= Buffer.byteLength(character)
    if (room < 0) break
    beginning += character
  }
  return beginning + rest
}
