import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'

// Files for the sandbox's own user get their mode by chmod, because the service may run under any umask.

/** Creates a directory that every uid may read. */
export function makeVisibleDirectory(path: string): void {
  mkdirSync(path)
  chmodSync(path, 0o755)
}

/** Writes a new file that every uid may read. */
export function writeVisibleFile(path: string, content: string | Uint8Array): void {
  writeFileSync(path, content, { flag: 'wx' })
  chmodSync(path, 0o444)
}
