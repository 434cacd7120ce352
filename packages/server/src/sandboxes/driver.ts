import type { RequestListener } from 'node:http'
import type { Duplex } from 'node:stream'

/** Bounds of one sandbox. All are enforced, by the means that `SandboxDriver.describe` names. */
export interface SandboxBounds {
  readonly memoryBytes: number
  readonly processes: number
  /** Cores, may be a fraction. */
  readonly cpus: number
  readonly fileSizeBytes: number
  readonly diskBytes: number
}

/** One sandbox to make. */
export interface SandboxSpec {
  readonly leaseId: string
  /** What runs as the first process inside; a supervisor unless a test says otherwise. */
  readonly command: readonly string[]
  readonly bounds: SandboxBounds
  /** Directories of the host shown read-only at the same path, for runtimes that live outside `/usr`. */
  readonly mounts: readonly string[]
  /** Objects of a mirror on this host, shown read-only, for repositories inside that borrow them. */
  readonly objects?: string
  /** Where the service installed the sandbox's runtime, shown read-only at `/opt/runtime`. */
  readonly runtime?: string
  readonly egress: SandboxEgress
}

/** What a sandbox gets to through its proxy, which is its only way out; everything else is refused there. */
export interface SandboxEgress {
  /** Origins that the operator named (`http://127.0.0.1:9000`), whatever addresses they have. */
  readonly reach: readonly string[]
  /** Absent: no host but those of `reach`. */
  readonly publicHosts?: PublicHosts | undefined
  /** Absent: the sandbox has no gateway. */
  readonly gateway?: GatewayRoute
}

/** How far the public network is open to sandboxes. */
export interface PublicHosts {
  readonly ports: readonly number[]
  /** Names, and `*.name` for all names below one; absent: every public host. */
  readonly only?: readonly string[] | undefined
  /** Ranges of public addresses (`198.51.100.0/24`) that are closed all the same. */
  readonly refused: readonly string[]
}

/** The model gateway as a sandbox's proxy calls it. Its members are asked for each request. */
export interface GatewayRoute {
  /** The gateway itself, where it is of this process: requests are handed to it, and nothing is dialled. */
  readonly here?: RequestListener | null
  /** URL below which the gateway's paths lie. */
  readonly url: string
  /** Requests that the sandbox may have there at once. */
  readonly mostRequests: number
  /** Credential of the Run that is at work in the sandbox; null where none is. */
  bearer(): string | null
}

/** A file that a Turn brings; the name is one path segment. */
export interface InputFile {
  readonly name: string
  readonly content: Uint8Array
}

/** A directory of a sandbox that its agent owns, for the programs that seal and restore it. */
export interface TreePlace {
  /** A directory that no sandbox can move or replace; what is in it is not trusted. */
  readonly path: string
  /** Owner of all that is in it. Undefined where that is this process's own user. */
  readonly uid?: number
}

/** How this host starts the program that works beside a tree, as its owner. */
export interface TreeProgram {
  /** Node's binary. */
  readonly nodePath: string
  /** The bundle, `tree.cjs`. */
  readonly programPath: string
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
}

/** What a sandbox holds that can be sealed, and be restored before anything runs in it. */
export interface LeaseTrees {
  readonly workspace: TreePlace
  readonly home: TreePlace
  /** A directory of the service's that lives as long as the trees. */
  readonly baselines: string
  readonly program: TreeProgram
}

/**
 * What the processes of a sandbox do: they run; they were asked to stop and some have not yet; all have stopped; or the
 * supervisor is dead, which ends all others.
 */
export type SandboxState = 'running' | 'freezing' | 'frozen' | 'gone'

/** The sandbox does not exist or its supervisor is dead: nothing will ever answer there again. */
export class SandboxGoneError extends Error {
  override readonly name = 'SandboxGoneError'
}

/**
 * Makes and ends sandboxes on this host. Every method may be called by another process than the one that created the
 * sandbox, as long as it runs on the same host with the same data directory.
 */
export interface SandboxDriver {
  readonly kind: 'bubblewrap'
  /** One line per bound saying how it is enforced here, and what is missing for better; printed at start. */
  describe(): readonly string[]
  /** Makes the sandbox and starts its command. A failure leaves nothing behind. Throws when the lease id is in use. */
  create(spec: SandboxSpec): Promise<void>
  /**
   * Opens the supervisor's byte streams. The caller thaws the sandbox before: a frozen supervisor answers nothing.
   * @throws SandboxGoneError when nothing listens.
   */
  attach(leaseId: string, signal?: AbortSignal): Promise<Duplex>
  /** Places files under `/workspace/.berth/inputs/<turnSequence>/`, read-only to the sandbox. Idempotent. */
  writeInputs(leaseId: string, turnSequence: number, files: readonly InputFile[]): Promise<void>
  /**
   * Serves the sandbox's proxy socket from this process; called at create, again after a restart, and whenever the sandbox
   * is to reach something after it was frozen. Idempotent.
   */
  serveProxy(leaseId: string, egress: SandboxEgress): Promise<void>
  /**
   * Closes what the sandbox has open through this process's proxy, refuses all else there, and asks the kernel to stop
   * every process of the sandbox; the supervisor keeps running where the kernel has no freezer. Returns soon: `stateOf`
   * tells when all have stopped. Idempotent, also for a sandbox that is gone.
   */
  freeze(leaseId: string): Promise<void>
  /** Lets a frozen sandbox go on, and opens nothing for it. Idempotent. @returns whether it had been frozen */
  thaw(leaseId: string): Promise<boolean>
  /** What the sandbox's processes do. Asks nothing of a frozen supervisor. */
  stateOf(leaseId: string): Promise<SandboxState>
  /**
   * Ends the orphans among the sandbox's processes that were started since it last went on, with all that they started.
   * Those that were there before, and whatever is still a descendant of the supervisor's agent, go on. None that forks gets
   * away while the sandbox is frozen.
   */
  endOrphans(leaseId: string): Promise<void>
  /** Where the sandbox keeps what its agent owns. @throws SandboxGoneError when there is nothing of it */
  trees(leaseId: string): Promise<LeaseTrees>
  /** Ends every process of the sandbox and removes its files. Idempotent; resolves when nothing is left. */
  destroy(leaseId: string): Promise<void>
  /** Lease ids of everything on this host that looks like a sandbox, living or left over. */
  list(): Promise<string[]>
  /** Stops serving proxies. Sandboxes live on. */
  [Symbol.asyncDispose](): Promise<void>
}
