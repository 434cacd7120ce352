import { execFile } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { sandboxProcesses } from '../workspaces/sandbox-processes.ts'

/** A part of a process's memory; more at once is not worth its room. */
const PART_BYTES = 16 * 1024 * 1024

/** Where a service, its database and its sandboxes may hold a value that is to be nowhere. */
export interface Searched {
  readonly dataDir: string
  readonly db: Queryable
  /** The leases whose processes are searched. */
  readonly leases: readonly string[]
}

/**
 * Returns the places that hold a value in the clear: files of the service (sandboxes, journals, seals, logs, blobs), rows of
 * the database, and the memory of the sandboxes' processes, in which their environments lie as well.
 */
export async function findValue(value: string, { dataDir, db, leases }: Searched): Promise<readonly string[]> {
  const pids = (await Promise.all(leases.map(lease => sandboxProcesses(dataDir, lease)))).flat()
  const [files, rows] = await Promise.all([filesWith(value, dataDir), rowsWith(value, db)])
  const processes: string[] = []
  for (const pid of pids) if (await isInMemory(value, pid)) processes.push(`process ${pid}`)
  return [...files, ...rows, ...processes]
}

async function filesWith(value: string, directory: string): Promise<readonly string[]> {
  const grep = promisify(execFile)('grep', ['-rlsaF', '--devices=skip', '-e', value, directory])
  const { stdout } = await grep.catch((error: { code?: unknown; stdout?: string }) => {
    // 1: nothing found; 2: something vanished meanwhile.
    if (error.code === 1 || error.code === 2) return { stdout: error.stdout ?? '' }
    throw error
  })
  return stdout.split('\n').filter(line => line !== '')
}

async function rowsWith(value: string, db: Queryable): Promise<readonly string[]> {
  const { rows: tables } = await db.query<{ name: string }>(
    "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
  )
  const found: string[] = []
  for (const { name } of tables) {
    // `bytea` is shown in hexadecimal digits.
    const { rowCount } = await db.query(
      `select from "${name}" t where t::text like '%' || $1 || '%' or t::text like '%' || $2 || '%' limit 1`,
      [value, Buffer.from(value).toString('hex')],
    )
    if (rowCount > 0) found.push(`table ${name}`)
  }
  return found
}

async function isInMemory(value: string, pid: number): Promise<boolean> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8').catch(() => '')
  await using memory = await open(`/proc/${pid}/mem`).catch(() => null)
  if (memory === null) return false
  for (const line of maps.split('\n')) {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(line) ?? []
    if (from === undefined || to === undefined || /\[(vvar|vsyscall)/.test(line)) continue
    const end = Number.parseInt(to, 16)
    for (let at = Number.parseInt(from, 16); at < end; at += PART_BYTES) {
      const part = Buffer.alloc(Math.min(PART_BYTES + value.length, end - at))
      const read = await memory.read(part, 0, part.length, at).catch(() => null)
      if (read !== null && part.subarray(0, read.bytesRead).includes(value)) return true
    }
  }
  return false
}
