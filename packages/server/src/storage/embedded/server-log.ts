import { copyFileSync, openSync, statSync, truncateSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

const rotateAtBytes = 10 * 1024 * 1024

/** Opens the server's log for appending. The server writes to it by itself, so it outlives the service. */
export function openLog(path: string): number {
  return openSync(path, 'a', 0o600)
}

/** Present size of the log: where the lines of a server about to start will begin. */
export function logSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Keeps the log within twice its bound by copying it aside and emptying it. The server's descriptor appends, so it goes
 * on at the new end; lines written between copy and truncation are lost.
 */
export function rotateLog(path: string, bytes = rotateAtBytes): void {
  if (logSize(path) < bytes) return
  copyFileSync(path, `${path}.1`)
  truncateSync(path, 0)
}

/** The one line that says why a server ended, from what it logged after `offset`. */
export async function failureIn(path: string, offset: number): Promise<string> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  return explain(bytes.subarray(Math.min(offset, bytes.length)).toString('utf8'))
}

/** Picks the telling line out of what a program of PostgreSQL printed. */
export function explain(output: string): string {
  if (/^unshare: .*not permitted/m.test(output)) {
    return 'as root it needs the capability SYS_ADMIN to mount; run Berth as an ordinary user, or set DATABASE_URL'
  }
  const lines = output.split('\n').map(line => line.trim())
  const telling =
    lines.find(line => line.includes('No space left on device')) ??
    lines.find(line => /\b(FATAL|PANIC):/.test(line)) ??
    lines.find(line => /\berror:/i.test(line)) ??
    lines.findLast(line => line !== '')
  if (telling === undefined) return 'it said nothing'
  return telling.replace(/^.*?\b(?:FATAL|PANIC|error):\s*/i, '')
}
