/**
 * The protocol between a worker and the tree program (`program.ts`). The program runs as the tree's owner and sees only
 * the tree; only the worker can reach the blob store. All numbers in payloads are little endian.
 *
 * Sealing: the worker sends one `job` and ends its side. The program sends `pack`s and, between them, a `segment` or
 * `same` for each segment of the index in order, then `done`.
 * Restoring: the worker sends `job`, every `segment` in order, `indexEnd`, the packs in any order and `finish`. The
 * program answers `ready` once the index is valid, then `done`.
 * Restoring a cache, or over another tree: the same, beside what the target has; `RestoreReady` says what is written.
 * Clearing: `job`, then `done`.
 * Emptying the outbox: the worker sends `job`. The program sends one `presented` for each file; for a file to keep,
 * `content` frames follow, the last one empty. Then it sends `ready`. Once the worker has recorded the files it sends
 * `finish`; the program removes them and answers `done`.
 * Measuring: `job`, then `done` with `TreeSize`.
 * Looking: the worker sends `job`. The program sends the range of a file as one `content`, if the path is a file, then
 * `done` with `LookDone`.
 * In each case the program may answer `failed` instead and end.
 */
export const frameTypes = {
  job: 1,
  /** `[u32 pack id][u32 source bytes][zstd frame]`. */
  pack: 2,
  /** `[u32 source bytes][zstd frame]`. */
  segment: 3,
  /** `[u32 ordinal]`: this segment equals that one of the previous checkpoint, byte for byte. */
  same: 4,
  indexEnd: 5,
  ready: 6,
  finish: 7,
  done: 8,
  failed: 9,
  /** JSON of `PresentedEntry`. */
  presented: 10,
  content: 11,
} as const

/** Descriptors besides the standard ones: the new baseline, and the previous one. */
export const baselineFds = { write: 3, read: 4 } as const

/** A variable with the descriptor of the list of an upper layer and the place of its overlay in the tree: `5:project`. */
export const upperLayerVariable = 'BERTH_TREE_UPPER'

/** Path of the tree in the program's sandbox, whatever its path on the host. */
export const treePath = '/tree'

/** Content beyond this size begins a new pack; a pack never holds more. */
export const packBytes = 8 * 1024 * 1024

/** Size of the chunks that longer files are cut into; a change costs one chunk. */
export const chunkBytes = 1024 * 1024

/** A segment of the index never holds more. */
export const segmentBytes = 4 * 1024 * 1024

/** Largest frame of either side: a pack that zstd could not shrink, and its header. */
export const maxFrameBytes = packBytes + 128 * 1024

/** Directory that an unfinished restore leaves; no sealed tree has this name at its top. */
export const stagingName = '.berth-restore'

/** The same of an unfinished restore of a cache, which lies beside the content of a target. */
export const cacheStagingName = '.berth-cache'

/** Directory of `berth-present` at the top of the agent's home; entries are named by time and hold one file each. */
export const outboxName = '.berth-outbox'

/** A rule that excludes directories. A directory with a file that git tracks is kept despite every rule. */
export interface ExcludeRule {
  /** The directory's name, preceded by those of its parents that matter: `['node_modules', '.cache']`. */
  readonly names: readonly string[]
  /** True if the names are the whole path from the tree's root; git is not consulted then. */
  readonly rooted?: boolean
  /** Excludes anything of that name, not only a directory. */
  readonly anything?: boolean
  /** Applies only if the directory contains this file. */
  readonly holding?: string
  /** Applies only if this file lies beside the directory. */
  readonly sibling?: string
}

/** A pack of the previous checkpoint that may be reused. */
export interface UsablePack {
  readonly id: number
  readonly sourceBytes: number
}

/** Limits that the program enforces. */
export interface TreeLimits {
  readonly files: number
  readonly sourceBytes: number
  readonly indexBytes: number
}

/** Requests sealing a tree. */
export interface SealJob {
  readonly kind: 'seal'
  readonly level: number
  readonly exclude: readonly ExcludeRule[]
  /** Seals only these paths and everything below them. */
  readonly only?: readonly string[]
  /**
   * Gives up at the first path that holds one of these texts: in its name, its content, or the target of a link. Content
   * that the previous checkpoint has is not read again. With a list, if only an empty one, failures name the path.
   */
  readonly secrets?: readonly string[]
  /** Counts these paths and everything below them by themselves as well. */
  readonly counted?: readonly string[]
  readonly limits: TreeLimits
  /** Packs worth reusing; content of other packs is read and stored again. */
  readonly packs: readonly UsablePack[]
  readonly nextPack: number
  readonly hasBaseline: boolean
}

/** Requests writing a tree. */
export interface RestoreJob {
  readonly kind: 'restore'
  readonly limits: TreeLimits
  /** Every pack that will come. */
  readonly packs: readonly UsablePack[]
  /** Names at the top of the target that do not belong to the tree and stay. */
  readonly keep: readonly string[]
  /**
   * Writes nothing but these paths, each whole, beside what the target has. One that exists, or that cannot be reached
   * through directories alone, is left as it is. `ready` tells which will be written.
   */
  readonly only?: readonly string[]
  /**
   * The target becomes a tree that sandboxes show below their own files. With `over` it shows another such tree, and only
   * what differs is written. A tree with hard links is refused: they would part at the first write.
   */
  readonly lower?: 'whole' | 'over'
  /** The program has the baseline of a tree over the same one. */
  readonly hasBaseline?: boolean
}

/** Sent with `ready` by a restore that does not write everything. */
export interface RestoreReady {
  /** Positions in `only` of the paths that will be written. */
  readonly open: readonly number[]
  /** Ids of the packs that are needed; absent: all. */
  readonly packs?: readonly number[]
}

/** Requests removing everything that a restore has left. */
export interface ClearJob {
  readonly kind: 'clear'
  readonly keep: readonly string[]
  /** Removes these paths, and the staging directory of a cache, instead of everything. */
  readonly only?: readonly string[]
  /** Removes nothing unless an unfinished restore has left its mark. */
  readonly ifBegun?: boolean
}

/** Limits of the presented files that one run may keep. */
export interface PresentedLimits {
  readonly eachBytes: number
  readonly totalBytes: number
  readonly count: number
}

/** Requests the files that the agent has presented. */
export interface OutboxJob {
  readonly kind: 'outbox'
  /** Name of the batch. Files moved under the same name earlier but not recorded belong to it; others are removed. */
  readonly batch: string
  readonly limits: PresentedLimits
}

/** A file in the outbox. */
export interface PresentedEntry {
  /** Bytes of the name, one character each. */
  readonly name: string
  readonly sizeBytes: number
  /** The limit that the file exceeds; its content does not follow then. */
  readonly over?: keyof PresentedLimits
}

/** Sent after the last file of the outbox. */
export interface OutboxReady {
  /** True if the outbox contains more entries than were read. */
  readonly more: boolean
}

/** Requests a look at one path. */
export interface InspectJob {
  readonly kind: 'inspect'
  /** Below the tree, one character for each byte; empty for the tree itself. */
  readonly path: string
  /** Most entries of a directory. */
  readonly entries: number
  /** The range of a file. */
  readonly offset: number
  readonly bytes: number
}

/** An entry of a directory. Name and target have one character for each byte. */
export type InspectedEntry =
  | { readonly name: string; readonly kind: 'directory' | 'special' }
  | { readonly name: string; readonly kind: 'file'; readonly sizeBytes: number }
  | { readonly name: string; readonly kind: 'link'; readonly target: string }

/** What a path is: `elsewhere` is a link out of the tree, `special` a pipe, socket or device. */
export type Inspected =
  | { readonly found: 'nothing' | 'elsewhere' | 'special' }
  | { readonly found: 'directory'; readonly entries: readonly InspectedEntry[]; readonly more: boolean }
  | { readonly found: 'file'; readonly sizeBytes: number }

/** Requests the size of a tree, of which nothing is read. */
export interface MeasureJob {
  readonly kind: 'measure'
  readonly exclude: readonly ExcludeRule[]
  /** Counts no further than one entry more. */
  readonly files: number
}

/** The size of a tree by its entries: files, directories, links and others, and the lengths of the files. */
export interface TreeSize {
  readonly entries: number
  readonly sourceBytes: number
}

export type TreeJob = SealJob | RestoreJob | ClearJob | OutboxJob | InspectJob | MeasureJob

/** Entries left out of a sealed tree. */
export interface Omitted {
  readonly sockets: number
  readonly fifos: number
  readonly devices: number
  /** Excluded directories, and anything with the name that restores use. */
  readonly excluded: number
  /** Paths longer than a program can pass in one call. */
  readonly tooLong: number
}

/** Totals of a tree. */
export interface TreeTotals {
  readonly files: number
  readonly directories: number
  readonly links: number
  readonly sourceBytes: number
}

/** The size of a part of a sealed tree. */
export interface CountedPart {
  /** Files, directories and links. */
  readonly entries: number
  readonly sourceBytes: number
}

/** The program's report of a sealed tree. */
export interface SealDone extends TreeTotals {
  /** Bytes of content that were read; the rest was known from before. */
  readonly readBytes: number
  readonly omitted: Omitted
  /** For each pack with content of this tree, the number of its source bytes in use. */
  readonly live: readonly (readonly [pack: number, bytes: number])[]
  /** The part that the job asked to count. */
  readonly counted?: CountedPart
}

export type LimitName = 'files' | 'source' | 'index'

/** Why the program gave up. */
export type TreeFailure =
  | {
      readonly code: 'over_limit'
      readonly limit: LimitName
      /** A number of bytes, or a count of files, directories and links. */
      readonly atLeast: number
      /** Bytes of file content, as far as a seal had come. */
      readonly sourceBytes?: number
      /** As far as a seal had come. */
      readonly path?: string
    }
  /** A seal came to a path that holds a secret. */
  | { readonly code: 'secret'; readonly path: string }
  /** The index contains something that no sealed tree contains. */
  | { readonly code: 'malformed'; readonly message: string }
  /** The tree should not be a lower tree, or not over this one. */
  | { readonly code: 'unsuited'; readonly message: string }
  | { readonly code: 'target_not_empty' }
  | { readonly code: 'no_space' }
  | { readonly code: 'system'; readonly message: string }

/** Ends a program's work; its message never contains a path of the tree, which belongs to the user. */
export class TreeError extends Error {
  override readonly name = 'TreeError'
  readonly failure: TreeFailure

  constructor(failure: TreeFailure, options?: ErrorOptions) {
    super('message' in failure ? `${failure.code}: ${failure.message}` : failure.code, options)
    this.failure = failure
  }
}
