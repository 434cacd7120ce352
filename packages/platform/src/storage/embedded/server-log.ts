import { copyFileSync, openSync, statSync, truncateSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

const rotateAtBytes = 10 * 1024 * 1024

/** Opens the server's log for appending. The server writes to it directly, so logging outlives the service. */
export function openLog(path: string): number {
  return openSync(path, 'a', 0o600)
}

/** Current size of the log, at which the lines of the next server will begin. */
export function logSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Copies the log aside and empties it when it exceeds its bound, so both stay within twice that. The server appends and
 * so continues at the new end; lines written between copy and truncation are lost.
 */
export function rotateLog(path: string, bytes = rotateAtBytes): void {
  if (logSize(path) < bytes) return
  copyFileSync(path, `${path}.1`)
  truncateSync(path, 0)
}

/** Returns the one line, of those logged after `offset`, that says why a server ended. */
export async function failureIn(path: string, offset: number): Promise<string> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  return explain(bytes.subarray(Math.min(offset, bytes.length)).toString('utf8'))
}

/** Picks the line that explains a failure from the output of a PostgreSQL program. */
export function explain(output: string): string {
  if (/^unshare: .*not permitted/m.test(output)) {
    return 'as root it needs the capability SYS_ADMIN to mount; run Berth as an ordinary user, or set DATABASE_URL'
  }
  const lines = output.split('\n').map(line => line.trim())
  const reason =
    lines.find(line => line.includes('No space left on device')) ??
    lines.find(line => /\b(FATAL|PANIC):/.test(line)) ??
    lines.find(line => /\berror:/i.test(line)) ??
    lines.findLast(line => line !== '')
  if (reason === undefined) return 'it logged no reason'
  return reason.replace(/^.*?\b(?:FATAL|PANIC|error):\s*/i, '')
}
