import type { Network } from '@berth/platform/network/dial.ts'
import type { ObjectsOf } from '../confined/objects-directory.ts'
import type { SandboxBounds } from '../driver.ts'
import type { DriverLog } from '../leases/driver-log.ts'

/** Settings of the driver for containers. */
export interface OciOptions {
  /** Holds leases, spare containers and their records. */
  readonly dataDir: string
  /** Node's binary, shown read-only inside as `insidePaths.node`. */
  readonly nodePath: string
  /** Directory of the bundles that run inside, shown read-only as `insidePaths.bundles`. */
  readonly bundlesDir: string
  /** The usual bounds of sandboxes; spares have these. */
  readonly bounds: SandboxBounds
  readonly log: DriverLog
  /** An image that the engine has already. It needs `bash`, and the C library and C++ runtime of this host's Node. */
  readonly image: string
  /** Name or path of podman. */
  readonly engine?: string
  /** Name or path of the runtime that podman uses; its own choice if absent. */
  readonly runtime?: string
  /** The first of the 65 536 uids that leases of this host share. */
  readonly uidBase?: number
  /** Number of containers started ahead of demand. */
  readonly spares?: number
  /** The network that proxies dial through; this machine's unless a test replaces it. */
  readonly network?: Network
  /** Absent if this host has no mirrors. */
  readonly objects?: ObjectsOf
}
