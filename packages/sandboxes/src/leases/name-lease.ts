import { renameSync } from 'node:fs'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import type { Instance } from '../linux/instance.ts'
import { type LeaseFiles, leaseFiles } from './lease-files.ts'

/** The lease id already names a sandbox, running or left over. */
export class LeaseInUseError extends Error {
  override readonly name = 'LeaseInUseError'
}

/** Assigns a lease to a blank. If several processes create the same id, only one succeeds. */
export function nameLease(instance: Instance, blank: LeaseFiles, leaseId: string): LeaseFiles {
  const files = leaseFiles(instance, leaseId)
  try {
    renameSync(blank.dir, files.dir)
    return files
  } catch (error) {
    if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error
    throw new LeaseInUseError(`lease ${leaseId} already exists`, { cause: error })
  }
}
