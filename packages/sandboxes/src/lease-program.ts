import type { Readable, Writable } from 'node:stream'
import type { HelperBounds } from './helper-bounds.ts'

/** A directory of a sandbox that its agent owns. */
export type TreeName = 'workspace' | 'home'

export type TreeAccess = 'read' | 'write'

/**
 * A program that works on a sandbox's files from beside it: as their owner, in namespaces of its own, without a network.
 * It sees no process of the sandbox, which may be frozen.
 */
export type LeaseProgram = TreeProgram | LeaseScript

/** The tree program (`@berth/supervisor/tree`), which waits for its job. */
export interface TreeProgram {
  readonly kind: 'tree'
  readonly tree: TreeName
  readonly access: TreeAccess
  /** Absent: the program writes no baseline. */
  readonly baseline?: BaselineUse
}

/**
 * A baseline tells the next seal which files have not changed. It stays where the tree is, outside the sandbox, and goes
 * with the sandbox.
 */
export interface BaselineUse {
  /** Its series: a tree that is sealed for several purposes has one for each. */
  readonly series: string
  /** Digest of the manifest whose baseline the program reads, if it is still there. */
  readonly previous?: string
}

/** The baseline that a program writes. It counts once it is settled as kept. */
export interface NewBaseline {
  readonly id: string
  /** Whether the program has the previous one. */
  readonly hasPrevious: boolean
}

/**
 * What becomes of a new baseline. A program that may write marks its series as unfinished before it starts; `cleared`
 * and `kept` end that.
 */
export type BaselineEnd =
  /** It is the baseline of this manifest; all others but `previous` go. */
  | { readonly kept: string; readonly previous?: string }
  /** It goes, and the tree is as it was before the program. */
  | 'cleared'
  /** It goes, and the tree may be anything. */
  | 'abandoned'

/** A script of bash. It finds the sandbox's files at the paths that they have inside. */
export interface LeaseScript {
  readonly kind: 'script'
  readonly script: string
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>
  /** The trees that it sees. */
  readonly trees: Readonly<Partial<Record<TreeName, TreeAccess>>>
  /** Whether it may read files that their owner has closed to itself. */
  readonly readsAll: boolean
  /** Shown read-only, as to the sandbox. */
  readonly objects?: string
  /** Shown read-only, as to the sandbox. */
  readonly extensions?: readonly SandboxExtension[]
  /** A directory of its own at `scratchPath`, which goes when the program ends. */
  readonly scratch?: ProgramScratch
  /**
   * Whether it is told what the project's lower layers are a checkout of, and what may differ from them; only with a
   * scratch, and if there are such layers (`changesNames`).
   */
  readonly listsChanges?: boolean
  readonly bounds: HelperBounds
}

/** An unpacked extension of the host. */
export interface SandboxExtension {
  readonly id: string
  /** Absolute path of its content. It must not change while the sandbox lives. */
  readonly directory: string
  /** Names its content, which never changes, so that a host elsewhere is sent it once: `[a-z0-9-]`, at most 80. */
  readonly content?: string
}

/**
 * A script's variable with the commit that the project's lower layers show, and the name in its scratch of the list of paths
 * that the upper layer holds (`linux/upper-layer.ts`).
 */
export const changesNames = { commit: 'BERTH_LOWER_COMMIT', list: 'changes-list' } as const

/** Path of a script's own directory. */
export const scratchPath = '/scratch'

/** A script's own directory. */
export interface ProgramScratch {
  /** Relative paths, parents first. */
  readonly directories: readonly string[]
  /** Content by relative path. */
  readonly files: Readonly<Record<string, string>>
  /** A program that uses more is ended, and its end says `diskExceeded`. */
  readonly bytes: number
}

/** The end of a program that used more of its scratch than its bound. */
export const diskExceeded = 'SIGKILL over the bound of its scratch'

/** A running program. */
export interface ProgramRun {
  readonly input: Writable
  readonly output: Readable
  /**
   * Resolves when the program has exited and no longer holds a tree, with its exit code or signal and its error output.
   */
  readonly ended: Promise<string>
  kill(): void
  /** Only of a tree program with a baseline. */
  readonly baseline?: NewBaseline
}

/** A series of baselines is marked as unfinished: a program was writing into the tree and nobody cleared it since. */
export class TreeUnfinishedError extends Error {
  override readonly name = 'TreeUnfinishedError'
}

/** Whether a program ended with exit code 0, whatever it said: a shell warns if its image lacks a locale. */
export const hasSucceeded = (ended: string): boolean => ended === '0' || ended.startsWith('0 ')
