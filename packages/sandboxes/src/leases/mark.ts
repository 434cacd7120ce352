import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { hostNames, type LeaseFiles } from './lease-files.ts'

/** Returns the name that marks the processes of a lease's sandbox: its own, unless they were started before it had one. */
export function markOf(files: LeaseFiles): string {
  try {
    return readFileSync(join(files.host, hostNames.mark), 'utf8') || files.leaseId
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return files.leaseId
    throw error
  }
}
