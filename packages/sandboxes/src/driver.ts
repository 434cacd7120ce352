import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { SecureContext } from 'node:tls'
import type { BaselineEnd, LeaseProgram, LeaseScript, ProgramRun, SandboxExtension, TreeName } from './lease-program.ts'
import type { Tree } from './tree.ts'

/** Bounds of one sandbox. All are enforced, in the ways that `SandboxDriver.describe` lists. */
export interface SandboxBounds {
  readonly memoryBytes: number
  readonly processes: number
  /** Cores, may be a fraction. */
  readonly cpus: number
  readonly fileSizeBytes: number
  readonly diskBytes: number
}

/** The sandbox to create. */
export interface SandboxSpec {
  readonly leaseId: string
  /** The first command inside: a supervisor, unless a test replaces it. */
  readonly command: readonly string[]
  readonly bounds: SandboxBounds
  /** Directories of the host shown read-only at the same path, for runtimes that live outside `/usr`. */
  readonly mounts: readonly string[]
  /** Id of a mirror whose objects are shown read-only, for repositories inside that borrow them. */
  readonly objects?: string
  /** The runtime's installation on the host, shown read-only at `/opt/runtime`. */
  readonly runtime?: string
  /** Names what `mounts` and `runtime` are for, so that a host elsewhere finds its own. */
  readonly runtimeId?: string
  /** An engine that the sandbox sees in place of the built-in agent's; read once, to its end. */
  readonly engine?: AsyncIterable<Uint8Array>
  /** Shown below the sandbox's own files; changes go to its disk. Only if `lowerOwner` is not null. */
  readonly lower?: LowerTrees
  /**
   * A directory of this host with system packages, shown with the host's own system. It must not change while the
   * sandbox lives. Only if `layers` has no fault.
   */
  readonly layer?: string
  /** Shown read-only at `/opt/extensions/<id>`. */
  readonly extensions?: readonly SandboxExtension[]
  readonly egress: SandboxEgress
  /** An authority that programs inside trust besides the system's. Absent: they trust the system's alone. */
  readonly trust?: SandboxTrust
}

/** An authority that programs of a sandbox trust. All of it is public. */
export interface SandboxTrust {
  /** In PEM. */
  readonly certificate: string
  /** The hash of its name by which OpenSSL finds it in a directory: eight hexadecimal digits. */
  readonly hash: string
}

/** Where lower trees show. */
export type LowerPlace = 'workspace' | 'home' | 'project'

/**
 * Directories of this host shown below a sandbox's own files; their content belongs to `LowerOwner.uid` and never changes
 * while a sandbox uses it.
 */
export interface LowerTrees {
  /** For each place the layers, topmost first: at most three. `project` is `/workspace/project`; it excludes `workspace`. */
  readonly places: Readonly<Partial<Record<LowerPlace, readonly [string, ...string[]]>>>
  /** Directories of baselines of the trees, which the first seal builds on. Absent: the seal reads everything. */
  readonly baselines: Readonly<Partial<Record<TreeName, string>>>
  /** The commit that `project` is a checkout of, so that a review need not compare what nothing covers. */
  readonly commit?: string
}

/** How this host shows layers of system packages to sandboxes; `fault` says in words for people why it does not. */
export type LayerSupport = { readonly firstUid: number } | { readonly fault: string }

/** The user of lower trees, and the way to write them. */
export interface LowerOwner {
  readonly uid: number
  /**
   * Returns a directory of this user on this host as a tree.
   * @param baselines directory of its baselines
   */
  tree(directory: string, baselines: string): Tree
  /**
   * Returns a new directory `workspace` in an empty one as a tree, for one program. If there are layers, the tree shows
   * them below, and the new directory becomes the layer above.
   * @param layers workspaces of this user, topmost first
   */
  layer(directory: string, layers: readonly string[], baselines: string): Promise<Tree>
  /**
   * Gives a sandbox's workspace the baselines in a directory, made of the layers that it shows. Idempotent; does nothing if the
   * sandbox is gone.
   */
  lend(leaseId: string, baselines: string): Promise<void>
  /**
   * Starts a script of this user, whose workspace is a new directory `workspace` in an empty one. If there are layers, the
   * workspace shows them below, and the new directory becomes the layer above.
   * @param layers workspaces that were made in this way, topmost first
   */
  run(directory: string, layers: readonly string[], script: LeaseScript): Promise<ProgramRun>
}

/** The targets that a sandbox may reach through its proxy, its only way out. The proxy refuses all others. */
export interface SandboxEgress {
  /** Origins that the operator named (`http://127.0.0.1:9000`), whatever their addresses. */
  readonly reach: readonly string[]
  /** Absent: only the hosts in `reach`. */
  readonly publicHosts?: PublicHosts | undefined
  /** Absent: the sandbox has no gateway. */
  readonly gateway?: SandboxService
  /** The platform's own paths, below `/_berth/`. Absent: the sandbox has no service of its worker. */
  readonly service?: SandboxService
  /**
   * Opens a connection to a proxy of the worker's that has this egress. A driver whose host has no network of its own uses
   * it for every connection of the sandbox; any other only if `isLent`.
   */
  readonly proxy?: (signal: AbortSignal) => Promise<Duplex>
  /**
   * Whether a host elsewhere leads connections to public hosts through `proxy`, because only the worker can decide about
   * them or put secrets in. Absent: only if there are `secrets`.
   */
  readonly isLent?: boolean
  /** Secrets that the proxy puts into requests; the sandbox has only their placeholders. They never leave this process. */
  readonly secrets?: readonly EgressSecret[]
  /** Certifies the hosts that `secrets` name. Its key never leaves this process. Absent: no secret is put in. */
  readonly authority?: LeaseAuthority
  /** Asked for each public target that the operator's policy allows. Absent: all of them are reached. */
  readonly network?: EgressNetwork
  readonly observe?: EgressObserver
  /** Masks the secrets of the sandbox's Session in a text for the operator's log. Absent: credentials, by their form. */
  readonly masked?: (text: string) => Promise<string>
}

/** A secret that the proxy puts into requests to some hosts, in place of a placeholder. */
export interface EgressSecret {
  readonly name: string
  readonly value: string
  /** What the sandbox has in place of the value. It is worth nothing outside this sandbox's proxy. */
  readonly placeholder: string
  /** Names in lower case, or `*.name` for all names below one. */
  readonly hosts: readonly string[]
  /** Absent: every method. */
  readonly methods?: readonly string[]
  /** Prefixes of paths, which end at a segment. Absent: every path. */
  readonly paths?: readonly string[]
  readonly put: EgressPlace
}

/** Where a request has the secret: in a header, as the password of basic authentication, or in a parameter of the query. */
export type EgressPlace =
  | {
      readonly header: string
      /** Holds `{value}` once. */
      readonly format: string
    }
  | { readonly basic: { readonly user: string } }
  | { readonly query: string }

/** Makes the certificates by which the proxy stands for a host towards one sandbox. */
export interface LeaseAuthority {
  /** Returns what the sandbox trusts: the authority's own certificate. */
  trust(): Promise<SandboxTrust>
  /** Returns what a TLS server needs to stand for a host. */
  leafFor(host: string): Promise<SecureContext>
}

/** Where a connection of a sandbox leads. */
export interface EgressTarget {
  readonly host: string
  readonly port: number
}

/** Decides about targets beyond the operator's policy: the hosts of an environment, and people. */
export interface EgressNetwork {
  /**
   * Decides whether a connection may be opened, and may take its time: the dial's timeout starts afterwards. It is not
   * asked for origins in `reach`, the gateway and the platform's own paths.
   * @param by the program that connects, if it says so (`User-Agent`)
   * @param signal aborts when the client leaves or the sandbox is frozen
   */
  decide(target: EgressTarget & { readonly by?: string }, signal: AbortSignal): EgressDecision | Promise<EgressDecision>
}

/** Why a connection, or a request in one, is refused: the first two are the proxy's own, the others a decider's. */
export type RefusalCode =
  | 'policy'
  | 'secret_not_for_host'
  | 'never_host'
  | 'not_listed'
  | 'denied'
  | 'timed_out'
  | 'undecided'
  | 'nobody_to_ask'
  | 'too_many_asked'

/** `reason` goes to the agent, in words that say who refused what. */
export type EgressDecision =
  | { readonly allow: true }
  | { readonly allow: false; readonly code: RefusalCode; readonly reason: string }

/** Hears at once what passes a sandbox's proxy. It must not throw, and never hears paths, queries or values. */
export interface EgressObserver {
  /** A connection was opened. */
  reached(target: EgressTarget): void
  /** The proxy refused a connection, or a request in one. */
  refused(target: EgressTarget & { readonly code: RefusalCode; readonly reason: string }): void
  /** Bytes since the last call for the same connection. */
  bytes(count: EgressTarget & { readonly sent: number; readonly received: number }): void
  /** A secret was put into a request. */
  used(use: EgressTarget & { readonly name: string }): void
}

/**
 * Answers requests of a sandbox in this process, wherever the sandbox is. Its proxy forwards them and adds nothing, so no
 * credential leaves this process for it.
 */
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

/** A file of a Turn. The name is one path segment. */
export interface InputFile {
  readonly name: string
  readonly content: Uint8Array
}

/**
 * The state of a sandbox's processes: they run; they were asked to stop but not all have; all have stopped; they were ended
 * and `thaw` starts others at the same files; or the supervisor is dead, which ends all others.
 */
export type SandboxState = 'running' | 'freezing' | 'frozen' | 'parked' | 'gone'

/** The sandbox does not exist or its supervisor is dead. It will never answer again. */
export class SandboxGoneError extends Error {
  override readonly name = 'SandboxGoneError'
}

/**
 * Creates and destroys sandboxes on a host. Any process may call a method on a sandbox that another created, if it
 * runs on the same host with the same data directory. No path of the host and no descriptor leaves a driver: its answers
 * are streams and values that can be sent.
 */
export interface SandboxDriver {
  readonly kind: 'bubblewrap' | 'oci' | 'pod' | 'remote'
  /**
   * Returns one line per bound: how it is enforced here, and the requirement for something better. The service prints
   * them at start.
   */
  describe(): readonly string[]
  /** Returns who owns lower trees on this host; null if it cannot show sandboxes any. */
  lowerOwner(): LowerOwner | null
  /** Tells how sandboxes of this host show layers; the first uid stands for a layer's root, and its other users follow. */
  layers(): LayerSupport
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
   * Resumes a frozen or parked sandbox without reopening its proxy. Idempotent. A parked one that cannot be started is gone.
   * @returns whether it had been frozen or parked
   */
  thaw(leaseId: string): Promise<boolean>
  /**
   * Ends the processes of a running sandbox in which nothing but the supervisor is left, and keeps its files. Nobody may attach
   * or start anything meanwhile. Idempotent.
   * @param fence the highest token of the sandbox's Session
   * @returns whether it is parked; false if something in it would be lost, or this driver cannot
   */
  park(leaseId: string, fence: number): Promise<boolean>
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
   * Starts a program at the sandbox's files, whether the sandbox runs or not. It ends with this process at the latest,
   * and its caller must end it.
   * @throws SandboxGoneError if the sandbox does not exist
   * @throws TreeUnfinishedError
   */
  run(leaseId: string, program: LeaseProgram): Promise<ProgramRun>
  /** Settles the baseline that a program of the sandbox has written; also if the program has not ended. */
  settleBaseline(leaseId: string, series: string, id: string, end: BaselineEnd): Promise<void>
  /**
   * Tells whether one of the names at the top of a tree is a directory. It starts no program.
   * @throws SandboxGoneError if the sandbox does not exist
   */
  hasDirectory(leaseId: string, tree: TreeName, names: readonly string[]): Promise<boolean>
  /** Ends every process of the sandbox and removes its files. Idempotent; resolves when nothing is left. */
  destroy(leaseId: string): Promise<void>
  /** Returns the lease ids of all sandboxes on this host, running or left over. */
  list(): Promise<string[]>
  /** Stops serving proxies. Sandboxes keep running. */
  [Symbol.asyncDispose](): Promise<void>
}
