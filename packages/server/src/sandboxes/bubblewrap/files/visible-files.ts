import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'

// What a sandbox's own user is to read gets its mode by chmod: the service may run under any umask.

/** Makes a directory that every uid may read. */
export function makeVisibleDirectory(path: string): void {
  mkdirSync(path)
  chmodSync(path, 0o755)
}

/** Writes a new file that every uid may read; for the few bytes that a lease's own files have. */
export function writeVisibleFile(path: string, content: string): void {
  writeFileSync(path, content, { flag: 'wx' })
  chmodSync(path, 0o444)
}
