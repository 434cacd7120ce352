import type { Network } from '@berth/platform/network/dial.ts'
import type { ObjectsOf } from '../confined/objects-directory.ts'
import type { SandboxBounds } from '../driver.ts'
import type { DriverLog } from '../leases/driver-log.ts'
import type { PoolOptions } from './pool-options.ts'

/** How to bound a sandbox's disk. `auto` means `loop` if this host supports it, else `poll`. */
export type DiskMode = 'auto' | 'loop' | 'poll'

/** Settings of the bubblewrap driver. */
export interface BubblewrapOptions {
  /** Holds leases, spare disks and their records. */
  readonly dataDir: string
  /** Node's binary, shown read-only inside as `insidePaths.node`. */
  readonly nodePath: string
  /** Directory of the bundles that run inside, shown read-only as `insidePaths.bundles`. */
  readonly bundlesDir: string
  /** The usual bounds of sandboxes; spares have these. */
  readonly bounds: SandboxBounds
  readonly log: DriverLog
  /** The first of the 65 536 uids that leases of this host share. */
  readonly uidBase?: number
  readonly disk?: DiskMode
  /**
   * Number of sandboxes prepared ahead of demand, without supervisor or agent: a disk, cgroups and a waiting shell
   * each.
   */
  readonly spares?: number
  /** Sandboxes that stand ready, with supervisor and agent; none if absent. */
  readonly pool?: PoolOptions
  /** The network that proxies dial through; this machine's unless a test replaces it. */
  readonly network?: Network
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
  /** Absent if this host has no mirrors. */
  readonly objects?: ObjectsOf
  /** False: use rlimits even if cgroups work. `v1`: use only version 1 of cgroups. */
  readonly cgroups?: boolean | 'v1'
}

/** Bounds for hosts of ordinary size. The file size leaves room for the longest journal. */
export const defaultBounds: SandboxBounds = {
  memoryBytes: 4 * 1024 ** 3,
  processes: 512,
  cpus: 2,
  fileSizeBytes: 4 * 1024 ** 3,
  diskBytes: 10 * 1024 ** 3,
}
