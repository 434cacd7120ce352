import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { isRunning } from '@berth/platform/storage/embedded/process-stat.ts'

const prefix = 'berth-test-postgres-'
const memory = '/dev/shm'

/** Makes the directory of a run's PostgreSQL: in memory, if it has room for all databases of a run. */
export async function makePostgresDirectory(): Promise<string> {
  const found = await ignoring(['ENOENT'], statfs(memory))
  const isRoomy = found !== undefined && found.bavail * found.bsize >= 8 * 1024 ** 3
  return mkdtemp(join(isRoomy ? memory : tmpdir(), `${prefix}${process.pid}-`))
}

/** Removes the directories of runs that were killed: such a run ends its server but leaves the directory behind. */
export async function removePostgresDirectories(): Promise<void> {
  for (const parent of [tmpdir(), memory]) {
    for (const name of (await ignoring(['ENOENT'], readdir(parent))) ?? []) {
      const pid = Number(name.startsWith(prefix) ? name.slice(prefix.length).split('-')[0] : Number.NaN)
      if (Number.isSafeInteger(pid) && !isRunning(pid)) await rm(join(parent, name), { recursive: true, force: true })
    }
  }
}
