import { join } from 'node:path'
import type { Instance } from '../linux/instance.ts'
import { isLeaseId } from '../linux/instance.ts'

/**
 * The directories of one lease. `host` never appears inside the sandbox; `platform` and `run` appear read-only. The
 * agent can write only to the three directories below `files`, which lie on the lease's disk.
 */
export interface LeaseFiles {
  readonly leaseId: string
  readonly dir: string
  readonly host: string
  readonly platform: string
  readonly inputs: string
  readonly run: string
  readonly disk: string
  readonly files: string
  readonly workspace: string
  readonly home: string
  readonly tmp: string
}

/** Names below `LeaseFiles.host`. */
export const hostNames = {
  socket: 's',
  journal: 'journal',
  log: 'log',
  record: 'record.json',
  /** The engine in place of the built-in one, if the lease has its own. */
  engine: 'engine.cjs',
  /** The authorities that a container trusts, in place of its image's own file. */
  authorities: 'authorities',
  /** Baselines of the trees, a directory for each series. */
  baselines: 'baselines',
  /** Where layers of lower trees are bound while their overlay is mounted. */
  lower: 'lower',
  /** The commit that the project's lower layers are a checkout of. */
  commit: 'commit',
  /** The system that a lease with a layer shows, and where the layer is. */
  usr: 'usr',
  layer: 'layer',
  arguments: 'arguments',
  script: 'script',
  group: 'cgroup',
  /** Of a lease in a container: its name, first process and group. */
  container: 'container.json',
  /** The name that marks the sandbox's processes, if they were started before it had its lease. */
  mark: 'mark',
  /** Which processes signals have stopped (`some` or `all`); absent while they run. */
  stopped: 'stopped',
  /** Why there are no processes, and where they go on. */
  parked: 'parked.json',
  /** The time when the processes last resumed. */
  thawed: 'thawed',
} as const

/** Returns the directory of a lease's baselines. */
export const baselinesOf = (files: LeaseFiles): string => join(files.host, hostNames.baselines)

/** Name of the proxy's socket below `LeaseFiles.run`. */
export const proxySocketName = 'proxy.sock'

/** Names of the directories below the lease's disk. */
export const diskNames = {
  image: 'image',
  files: 'files',
  workspace: 'workspace',
  home: 'home',
  tmp: 'tmp',
  /** Objects of a mirror, in a sandbox that may get them after its start. */
  objects: 'objects',
  /** What a sandbox with lower trees has changed in them. */
  upper: 'upper',
  /** The overlays' own directories. */
  work: 'work',
} as const

/**
 * Returns the paths of a lease.
 * @throws TypeError if the id could name anything but a child of the leases directory
 */
export function leaseFiles(instance: Instance, leaseId: string): LeaseFiles {
  if (!isLeaseId(leaseId)) throw new TypeError(`not a lease id: ${JSON.stringify(leaseId)}`)
  return leaseFilesAt(join(instance.leasesDir, leaseId), leaseId)
}

/** Returns the paths of a lease whose directory is `dir`. */
export function leaseFilesAt(dir: string, leaseId: string): LeaseFiles {
  const platform = join(dir, 'platform')
  const disk = join(dir, 'disk')
  const files = join(disk, diskNames.files)
  return {
    leaseId,
    dir,
    host: join(dir, 'host'),
    platform,
    inputs: join(platform, 'inputs'),
    run: join(dir, 'run'),
    disk,
    files,
    workspace: join(files, diskNames.workspace),
    home: join(files, diskNames.home),
    tmp: join(files, diskNames.tmp),
  }
}
