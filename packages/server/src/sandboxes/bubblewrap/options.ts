import type { Network } from '../../network/dial.ts'
import type { SandboxBounds } from '../driver.ts'

/** What the driver needs of a logger; pino's loggers fit. */
export interface DriverLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** How the disk of a sandbox is bounded. `auto` takes `loop` where this host can do it, else `poll`. */
export type DiskMode = 'auto' | 'loop' | 'poll'

/** Settings of the bubblewrap driver. */
export interface BubblewrapOptions {
  /** Leases, spare disks and their records live below it. */
  readonly dataDir: string
  /** Node's binary, shown read-only inside as `insidePaths.node`. */
  readonly nodePath: string
  /** Directory of the bundles that run inside, shown read-only as `insidePaths.bundles`. */
  readonly bundlesDir: string
  /** The bounds that most sandboxes will ask for; those prepared ahead have them. */
  readonly bounds: SandboxBounds
  readonly log: DriverLog
  /** First of the 65 536 uids that leases of this host share. */
  readonly uidBase?: number
  readonly disk?: DiskMode
  /** Sandboxes prepared ahead of demand, without supervisor or agent: disk, cgroups and a waiting shell each. */
  readonly spares?: number
  /** Where proxies connect through; this machine's unless a test says otherwise. */
  readonly network?: Network
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
  /** False: bounds by rlimits even where cgroups would work. `v1`: of cgroups no other version. */
  readonly cgroups?: boolean | 'v1'
}

/** Where a sandbox finds what the platform gives it. */
export const insidePaths = {
  node: '/opt/berth/node',
  /** The same Node for the supervisor alone: a process that runs it cannot be traced. */
  closedNode: '/opt/berth/closed/node',
  bundles: '/opt/berth/bundles',
  present: '/opt/berth/berth-present',
  workspace: '/workspace',
  /** Where a Session's repository stands. */
  project: '/workspace/project',
  platform: '/workspace/.berth',
  /** What was installed for the sandbox's runtime. */
  runtime: '/opt/runtime',
  home: '/home/agent',
  run: '/run/berth',
  /** Written into the alternates of repositories, and so into seals: it never changes. */
  objects: '/opt/source/objects',
} as const

/** Bounds for hosts of ordinary size. The file bound leaves room for the longest journal. */
export const defaultBounds: SandboxBounds = {
  memoryBytes: 4 * 1024 ** 3,
  processes: 512,
  cpus: 2,
  fileSizeBytes: 4 * 1024 ** 3,
  diskBytes: 10 * 1024 ** 3,
}
