import { createHash } from 'node:crypto'
import { join } from 'node:path'

const leaseIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Returns whether a string may name a lease. Such a name is safe as a path segment, a cgroup name and a marker. */
export function isLeaseId(value: string): boolean {
  return leaseIdPattern.test(value)
}

/**
 * The services of one data directory on this host. The tag separates their cgroups and processes from those of others.
 */
export interface Instance {
  readonly dataDir: string
  /** A short name, the same in every process that uses the data directory. */
  readonly tag: string
  readonly leasesDir: string
  readonly blanksDir: string
}

/**
 * Returns the instance of a data directory.
 * @param dataDir an absolute path without symbolic links, so that every spelling gives one tag
 */
export function instanceOf(dataDir: string): Instance {
  return {
    dataDir,
    tag: `berth-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`,
    leasesDir: join(dataDir, 'leases'),
    blanksDir: join(dataDir, 'blanks'),
  }
}
