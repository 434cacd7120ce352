import type { Network } from '../../network/dial.ts'
import type { SandboxBounds } from '../driver.ts'

/** The part of a logger that the driver needs; pino's loggers fit. */
export interface DriverLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

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
  /** The network that proxies dial through; this machine's unless a test replaces it. */
  readonly network?: Network
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
  /** False: use rlimits even if cgroups work. `v1`: use only version 1 of cgroups. */
  readonly cgroups?: boolean | 'v1'
}

/** Paths of the platform's files inside a sandbox. */
export const insidePaths = {
  node: '/opt/berth/node',
  /** The same Node for the supervisor alone: a process that runs it cannot be traced. */
  closedNode: '/opt/berth/closed/node',
  bundles: '/opt/berth/bundles',
  /** The built-in agent. */
  engine: '/opt/berth/bundles/engine.cjs',
  /** Programs of the bundles that agents and scripts call by name. */
  programs: ['berth-present', 'berth-git-credential', 'berth-token', 'gh'].map(name => `/opt/berth/${name}`),
  workspace: '/workspace',
  /** The Session's repository. */
  project: '/workspace/project',
  platform: '/workspace/.berth',
  /** The installed files of the sandbox's runtime. */
  runtime: '/opt/runtime',
  /** Holds the extensions of the lease, each by its id. */
  extensions: '/opt/extensions',
  home: '/home/agent',
  run: '/run/berth',
  /** Written into the alternates of repositories, and so into checkpoints: it must never change. */
  objects: '/opt/source/objects',
} as const

/** Bounds for hosts of ordinary size. The file size leaves room for the longest journal. */
export const defaultBounds: SandboxBounds = {
  memoryBytes: 4 * 1024 ** 3,
  processes: 512,
  cpus: 2,
  fileSizeBytes: 4 * 1024 ** 3,
  diskBytes: 10 * 1024 ** 3,
}
