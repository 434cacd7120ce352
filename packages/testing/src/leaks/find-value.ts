import { execFile } from 'node:child_process'
import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
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
 * Returns the places that hold a value, or one of several, in the clear: files of the service (sandboxes, journals, logs,
 * and blobs, which it unpacks), rows of the database, and the memory of the sandboxes' processes, in which their
 * environments lie as well.
 */
export async function findValue(
  given: string | readonly string[],
  { dataDir, db, leases }: Searched,
): Promise<readonly string[]> {
  const values = [given].flat()
  const pids = (await Promise.all(leases.map(lease => sandboxProcesses(dataDir, lease)))).flat()
  const [files, packed, rows] = await Promise.all([
    filesWith(values, dataDir),
    blobsWith(values, join(dataDir, 'blobs')),
    rowsWith(values, db),
  ])
  const processes: string[] = []
  for (const pid of pids) if (await isInMemory(values, pid)) processes.push(`process ${pid}`)
  return [...files, ...packed, ...rows, ...processes]
}

/**
 * Searches all files, and the disks of sandboxes as far as something was ever written to them: `grep` would read their holes,
 * for seconds each. Files vanish meanwhile.
 */
const search = `
  find "$0" -path '*/disk/image' -prune -o -type f -print0 2>/dev/null | xargs -0r grep -lsaF "$@"
  for image in "$0"/*/*/disk/image; do
    [ -e "$image" ] && tar -cSf - "$image" 2>/dev/null | grep -qaF "$@" && echo "$image"
  done
  true`

async function filesWith(values: readonly string[], directory: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('bash', [
    ...['-c', search, directory],
    ...values.flatMap(value => ['-e', value]),
  ])
  return stdout.split('\n').filter(line => line !== '')
}

/** Compressed content begins so, as a checkpoint's packs and the segments of its index do. */
const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
/** A frame of more is none of a checkpoint. */
const FRAME_BYTES = 64 * 1024 * 1024
const unpack = promisify(zstdDecompress)

/** Returns the blobs with the value in one of their compressed frames. */
async function blobsWith(values: readonly string[], directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => [])
  const found: string[] = []
  for (const entry of entries.filter(one => one.isFile())) {
    const path = join(entry.parentPath, entry.name)
    // A blob may be collected meanwhile.
    const content = await readFile(path).catch(() => Buffer.alloc(0))
    for (let at = content.indexOf(zstdMagic); at >= 0; at = content.indexOf(zstdMagic, at + 1)) {
      const frame = await unpack(content.subarray(at), { maxOutputLength: FRAME_BYTES }).catch(() => null)
      if (frame !== null && values.some(value => frame.includes(value))) {
        found.push(`${path} (unpacked)`)
        break
      }
    }
  }
  return found
}

async function rowsWith(values: readonly string[], db: Queryable): Promise<readonly string[]> {
  const { rows: tables } = await db.query<{ name: string }>(
    "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
  )
  const found: string[] = []
  for (const { name } of tables) {
    // `bytea` is shown in hexadecimal digits.
    const { rowCount } = await db.query(
      `select from "${name}" t where exists (select from unnest($1::text[]) v where strpos(t::text, v) > 0) limit 1`,
      [values.flatMap(value => [value, Buffer.from(value).toString('hex')])],
    )
    if (rowCount > 0) found.push(`table ${name}`)
  }
  return found
}

async function isInMemory(values: readonly string[], pid: number): Promise<boolean> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8').catch(() => '')
  await using memory = await open(`/proc/${pid}/mem`).catch(() => null)
  if (memory === null) return false
  const room = Buffer.allocUnsafe(PART_BYTES + Math.max(...values.map(({ length }) => length)))
  for (const line of maps.split('\n')) {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(line) ?? []
    // Of a file that the process cannot write there, memory holds what the file does.
    if (from === undefined || to === undefined || /\[(vvar|vsyscall)| r-.p .* \//.test(line)) continue
    const end = Number.parseInt(to, 16)
    for (let at = Number.parseInt(from, 16); at < end; at += PART_BYTES) {
      const part = room.subarray(0, Math.min(room.length, end - at))
      const read = await memory.read(part, 0, part.length, at).catch(() => null)
      const bytes = part.subarray(0, read?.bytesRead ?? 0)
      if (values.some(value => bytes.includes(value))) return true
    }
  }
  return false
}
