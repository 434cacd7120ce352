import { readlinkSync, renameSync, symlinkSync } from 'node:fs'
import { mkdir, readdir, readlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, ignoring } from '@berth/platform/kit/system-errors.ts'
import type { Instance } from '../linux/instance.ts'

/** How many uids leases share. */
export const UIDS = 65_536

export const defaultUidBase = 200_000

/** Shared by all services of this host that run as root; empty after a reboot. */
const HOST_UIDS_DIR = '/run/berth/uids'

/** Returns the directory of the claims of this process's user. */
export function uidsDirectory({ dataDir }: Instance): string {
  return process.getuid?.() === 0 ? HOST_UIDS_DIR : join(dataDir, 'uids')
}

/**
 * The uids of the living leases of a host. A claim is a symbolic link `<uid>` -> `<lease directory>`. Creating it
 * claims the uid and names its owner in one atomic step, however many processes and services compete.
 */
export interface Uids {
  claim(leaseDir: string): number
  /** Makes a claim another directory's. */
  move(uid: number, leaseDir: string): void
  release(leaseDir: string): Promise<void>
  /** Returns whether a uid is still a directory's. */
  holds(uid: number, leaseDir: string): boolean
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
      const first = Math.floor(Math.random() * UIDS)
      for (let step = 0; step < UIDS; step++) {
        const uid = base + ((first + step) % UIDS)
        try {
          symlinkSync(leaseDir, join(dir, String(uid)))
          return uid
        } catch (error) {
          if (errorCode(error) !== 'EEXIST') throw error
        }
      }
      throw new Error(`all ${UIDS} uids from ${base} are taken; see ${dir}`)
    },
    move(uid, leaseDir) {
      const fresh = join(dir, `${uid}.new`)
      symlinkSync(leaseDir, fresh)
      renameSync(fresh, join(dir, String(uid)))
    },
    holds(uid, leaseDir) {
      try {
        return readlinkSync(join(dir, String(uid))) === leaseDir
      } catch {
        return false
      }
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
