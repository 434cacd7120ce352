import { symlinkSync } from 'node:fs'
import { mkdir, readdir, readlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, ignoring } from '../../linux/errors.ts'

const RANGE = 65_536

/**
 * The uids of the living leases of a host. A claim is a symbolic link `<uid>` -> `<lease directory>`. Creating it
 * claims the uid and names its owner in one atomic step, however many processes and services compete.
 */
export interface Uids {
  claim(leaseDir: string): number
  release(leaseDir: string): Promise<void>
  /** Lease directories that hold a claim. */
  owners(): Promise<string[]>
}

/**
 * Opens the claims of uids.
 * @param dir shared by all services of the host that make sandboxes as the same user. It is empty after a reboot, which
 * no sandbox survives either.
 */
export async function openUids(dir: string, base: number): Promise<Uids> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const claims = async () => {
    const names = (await ignoring(['ENOENT'], readdir(dir))) ?? []
    const read = names.map(async name => ({
      name,
      owner: await ignoring(['ENOENT', 'EINVAL'], readlink(join(dir, name))),
    }))
    return Promise.all(read)
  }
  return {
    claim(leaseDir) {
      const first = Math.floor(Math.random() * RANGE)
      for (let step = 0; step < RANGE; step++) {
        const uid = base + ((first + step) % RANGE)
        try {
          symlinkSync(leaseDir, join(dir, String(uid)))
          return uid
        } catch (error) {
          if (errorCode(error) !== 'EEXIST') throw error
        }
      }
      throw new Error(`all ${RANGE} uids from ${base} are taken; see ${dir}`)
    },
    async release(leaseDir) {
      for (const { name, owner } of await claims()) {
        if (owner === leaseDir) await ignoring(['ENOENT'], unlink(join(dir, name)))
      }
    },
    async owners() {
      return (await claims()).flatMap(({ owner }) => owner ?? [])
    },
  }
}
