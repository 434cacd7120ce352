import { createHash } from 'node:crypto'
import { extname } from 'node:path'

/** What file systems take. */
const mostBytes = 255
const mostExtensionBytes = 32

/**
 * The name of a Turn's file inside the sandbox. A name counts characters and a file system bytes: one that is too long
 * keeps its beginning and its extension, and gets a digest of the whole so that no two become one.
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
