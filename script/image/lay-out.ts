import { chmodSync, copyFileSync, lstatSync, mkdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Copies a file or a link to where an image has it. The image's user reads everything and owns nothing, however the checkout
 * was made.
 */
export function layOut(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  const found = lstatSync(from)
  if (found.isSymbolicLink()) {
    symlinkSync(readlinkSync(from), to)
  } else {
    copyFileSync(from, to)
    chmodSync(to, found.mode & 0o100 ? 0o755 : 0o644)
  }
}
