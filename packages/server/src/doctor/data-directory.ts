import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { proveWritable } from '@berth/platform/kit/prove-writable.ts'
import { toStartError } from '@berth/platform/kit/start-error.ts'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { requireFreeSpace } from '@berth/platform/storage/embedded/free-space.ts'
import { type Finding, failure, ok, reasonOf, warning } from './finding.ts'

const gibibyte = 1024 ** 3

/**
 * Checks that a service could keep its files in a data directory, by writing one. It makes no directory: where there is
 * none yet, the nearest one above has to take it.
 * @param sandboxBytes disk that one sandbox may fill
 */
export async function examineDataDirectory(dataDir: string, sandboxBytes: number): Promise<Finding> {
  const check = 'data directory'
  const elsewhere = 'BERTH_DATA_DIR=<directory of your own with some GiB free> script/server'
  const place = nearest(dataDir)
  try {
    if (!(await stat(place)).isDirectory()) return failure(check, `${place} is not a directory`, elsewhere)
    await proveWritable(place)
    const free = await requireFreeSpace(place)
    const detail = `${dataDir}${place === dataDir ? '' : ' (not there yet)'}, ${(free / gibibyte).toFixed(1)} GiB free`
    if (free >= sandboxBytes) return ok(check, detail)
    const needs = `one sandbox may fill ${(sandboxBytes / gibibyte).toFixed(1)} GiB (BERTH_SANDBOX_DISK_BYTES)`
    return warning(check, `${detail}; ${needs}`, `df -h ${place}`)
  } catch (error) {
    // The directory is there; /proc and its kind answer so to everybody who makes a file.
    if (errorCode(error) === 'ENOENT')
      return failure(check, `${dataDir} cannot be made: ${place} takes no new files`, elsewhere)
    return failure(check, reasonOf(toStartError(error, `${dataDir} cannot be used`)), elsewhere)
  }
}

/** Returns the directory, or the nearest one above it that there is. */
export function nearest(directory: string): string {
  return existsSync(directory) || dirname(directory) === directory ? directory : nearest(dirname(directory))
}
