import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Bounds of one sandbox. All are enforced, in the ways that `SandboxDriver.describe` lists. */
export interface SandboxBounds {
  readonly memoryBytes: number
  readonly processes: number
  /** Cores, may be a fraction. */
  readonly cpus: number
  readonly fileSizeBytes: number
  readonly diskBytes: number
}

/** An unpacked extension of the host. */
export interface SandboxExtension {
  readonly id: string
  /** Absolute path of its content. It must not change while the sandbox lives. */
  readonly directory: string
}

/** The sandbox to create. */
export interface SandboxSpec {
  readonly leaseId: string
  /** The first command inside: a supervisor, unless a test replaces it. */
  readonly command: readonly string[]
  readonly bounds: SandboxBounds
  /** Directories of the host shown read-only at the same path, for runtimes that live outside `/usr`. */
  readonly mounts: readonly string[]
  /** Objects of a mirror on this host, shown read-only, for repositories inside that borrow them. */
  readonly objects?: string
  /** The runtime's installation on the host, shown read-only at `/opt/runtime`. */
  readonly runtime?: string
  /** An engine that the sandbox sees in place of the built-in agent's; read once, to its end. */
  readonly engine?: AsyncIterable<Uint8Array>
  /** Shown in the workspace and the home; changes go to the sandbox's own disk. Only if `lowerOwner` is not null. */
  readonly lower?: LowerTrees
  /** Shown read-only at `/opt/extensions/<id>`. */
  readonly extensions?: readonly SandboxExtension[]
  readonly egress: SandboxEgress
}

/** Two directories of this host whose content belongs to `LowerOwner.uid` and never changes while a sandbox uses it. */
export interface LowerTrees {
  readonly workspace: string
  readonly home: string
}

/** The user of lower trees, and the program that writes them. */
export interface LowerOwner {
  readonly uid: number
  readonly program: TreeProgram
}

/** The targets that a sandbox may reach through its proxy, its only way out. The proxy refuses all others. */
export interface SandboxEgress {
  /** Origins that the operator named (`http://127.0.0.1:9000`), whatever their addresses. */
  readonly reach: readonly string[]
  /** Absent: only the hosts in `reach`. */
  readonly publicHosts?: PublicHosts | undefined
  /** Absent: the sandbox has no gateway. */
  readonly gateway?: GatewayRoute
  /** Absent: the sandbox has no service of its worker. */
  readonly service?: SandboxService
}

/** Answers a sandbox's requests for the platform's own paths, below `/_berth/`, in this process. */
export interface SandboxService {
  /** @param target path and query */
  answer(incoming: IncomingMessage, outgoing: ServerResponse, target: string): Promise<void>
}

/** The part of the public network that is open to sandboxes. */
export interface PublicHosts {
  readonly ports: readonly number[]
  /** Names, or `*.name` for all names below one. Absent: every public host. */
  readonly only?: readonly string[] | undefined
  /** Ranges of public addresses (`198.51.100.0/24`) that stay closed. */
  readonly refused: readonly string[]
}

/** The route from a sandbox's proxy to the model gateway. The proxy reads its members for each request. */
export interface GatewayRoute {
  /**
   * The gateway itself if it runs in this process. The proxy then passes requests to it directly, without a connection.
   */
  readonly here?: RequestListener | null
  /** URL below which the gateway's paths lie. */
  readonly url: string
  /** Maximum number of simultaneous gateway requests of the sandbox. */
  readonly mostRequests: number
  /** Returns the credential of the Run that is active in the sandbox, or null if none is. */
  bearer(): string | null
}

/** A file of a Turn. The name is one path segment. */
export interface InputFile {
  readonly name: string
  readonly content: Uint8Array
}

/** A directory of a sandbox that its agent owns, for the programs that seal and restore it. */
export interface TreePlace {
  /** A directory that no sandbox can move or replace. Its content is untrusted. */
  readonly path: string
  /** Owner of all its content. Undefined if that is this process's own user. */
  readonly uid?: number
}

/** The program that works on a tree as the tree's owner, and how this host starts it. */
export interface TreeProgram {
  /** Node's binary. */
  readonly nodePath: string
  /** The bundle, `tree.cjs`. */
  readonly programPath: string
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
}

/** The trees of a sandbox that can be sealed, and restored before anything runs in it. */
export interface LeaseTrees {
  readonly workspace: TreePlace
  readonly home: TreePlace
  /** A directory of the service that lives as long as the trees. */
  readonly baselines: string
  readonly program: TreeProgram
}

/**
 * The state of a sandbox's processes: they run; they were asked to stop but not all have; all have stopped; or the
 * supervisor is dead, which ends all others.
 */
export type SandboxState = 'running' | 'freezing' | 'frozen' | 'gone'

/** The sandbox does not exist or its supervisor is dead. It will never answer again. */
export class SandboxGoneError extends Error {
  override readonly name = 'SandboxGoneError'
}

/**
 * Creates and destroys sandboxes on this host. Any process may call a method on a sandbox that another created, if it
 * runs on the same host with the same data directory.
 */
export interface SandboxDriver {
  readonly kind: 'bubblewrap'
  /**
   * Returns one line per bound: how it is enforced here, and the requirement for something better. The service prints
   * them at start.
   */
  describe(): readonly string[]
  /** Returns who owns lower trees on this host; null if it cannot show sandboxes any. */
  lowerOwner(): LowerOwner | null
  /**
   * Creates the sandbox and starts its command. A failure leaves nothing behind.
   * @throws Error if the lease id is in use
   */
  create(spec: SandboxSpec): Promise<void>
  /**
   * Opens the supervisor's byte streams. The caller must thaw the sandbox first, because a frozen supervisor does not
   * answer.
   * @throws SandboxGoneError if no supervisor listens
   */
  attach(leaseId: string, signal?: AbortSignal): Promise<Duplex>
  /** Writes files to `/workspace/.berth/inputs/<turnSequence>/`, read-only in the sandbox. Idempotent. */
  writeInputs(leaseId: string, turnSequence: number, files: readonly InputFile[]): Promise<void>
  /**
   * Serves the sandbox's proxy socket from this process. Called at creation, after a restart, and to reopen the proxy
   * after a freeze. Idempotent.
   */
  serveProxy(leaseId: string, egress: SandboxEgress): Promise<void>
  /**
   * Closes the sandbox's connections through this process's proxy, refuses new ones, and asks the kernel to stop every
   * process of the sandbox. Without a kernel freezer the supervisor keeps running. Returns soon: `stateOf` tells when
   * all have stopped. Idempotent, also for a sandbox that is gone.
   */
  freeze(leaseId: string): Promise<void>
  /**
   * Resumes a frozen sandbox without reopening its proxy. Idempotent.
   * @returns whether it had been frozen
   */
  thaw(leaseId: string): Promise<boolean>
  /** Returns the state of the sandbox's processes. It sends nothing to a frozen supervisor. */
  stateOf(leaseId: string): Promise<SandboxState>
  /**
   * Kills the sandbox's orphans that started since the last thaw or `keepOrphans`, with their descendants. Older orphans
   * and all descendants of the supervisor's agent keep running. Call it while the sandbox is frozen, so that no process escapes
   * by forking.
   */
  endOrphans(leaseId: string): Promise<void>
  /**
   * Spares the orphans that the sandbox has now from `endOrphans`. Idempotent.
   * @throws SandboxGoneError if no supervisor listens
   */
  keepOrphans(leaseId: string): Promise<void>
  /**
   * Returns the directories that the sandbox's agent owns.
   * @throws SandboxGoneError if the sandbox does not exist
   */
  trees(leaseId: string): Promise<LeaseTrees>
  /** Ends every process of the sandbox and removes its files. Idempotent; resolves when nothing is left. */
  destroy(leaseId: string): Promise<void>
  /** Returns the lease ids of all sandboxes on this host, running or left over. */
  list(): Promise<string[]>
  /** Stops serving proxies. Sandboxes keep running. */
  [Symbol.asyncDispose](): Promise<void>
}
