/**
 * What a worker and the program beside a tree (`program.ts`) say to each other. The program runs as the tree's owner and
 * sees only the tree; the blob store is only in the worker. All numbers in payloads are little endian.
 *
 * Sealing: the worker sends one `job` and ends its side. The program answers with `pack`s and, between them, for each part
 * of the index in order `segment` or `same`, then `done`. Restoring: the worker sends `job`, every `segment` in order,
 * `indexEnd`, the packs in any order, `finish`; the program answers `ready` once the index is found sound, then `done`.
 * Clearing: `job`, then `done`. Emptying the outbox: the worker sends `job`; the program answers one `presented` for each
 * file, those to be kept followed by `content` that an empty one ends, then `ready`; once the worker has recorded them it
 * sends `finish`, and the program removes them and answers `done`. Any program may answer `failed` instead and end.
 */
export const frameTypes = {
  job: 1,
  /** `[u32 pack id][u32 source bytes][zstd frame]`. */
  pack: 2,
  /** `[u32 source bytes][zstd frame]`. */
  segment: 3,
  /** `[u32 ordinal]`: this part of the index is that one of the previous checkpoint, byte for byte. */
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

/** Descriptors beyond the standard ones: where the new baseline goes, and the one to start from. */
export const baselineFds = { write: 3, read: 4 } as const

/** Where the program finds the tree, whatever its path on the host. */
export const treePath = '/tree'

/** Content beyond this many bytes begins a new pack; a pack never holds more. */
export const packBytes = 8 * 1024 * 1024

/** Longer files are cut into pieces of this size; a change costs its piece. */
export const chunkBytes = 1024 * 1024

/** A part of the index never holds more. */
export const segmentBytes = 4 * 1024 * 1024

/** Largest frame of either side: a pack that zstd could not make smaller, and its header. */
export const maxFrameBytes = packBytes + 128 * 1024

/** Left by a restore that did not finish; a name that no sealed tree holds at its top. */
export const stagingName = '.berth-restore'

/** Where `berth-present` leaves files, at the top of the agent's home; entries are named by when and hold one file. */
export const outboxName = '.berth-outbox'

/** A rule that leaves directories out; a directory with a file that git tracks in it is kept against every rule. */
export interface ExcludeRule {
  /** The directory's name, with those of the directories above it as far as they matter: `['node_modules', '.cache']`. */
  readonly names: readonly string[]
  /** The names are the whole path from the tree's root, and git is not asked. */
  readonly rooted?: boolean
  /** Only where this file lies in it. */
  readonly holding?: string
  /** Only where this file lies beside it. */
  readonly beside?: string
}

/** One pack of the previous checkpoint that may be used again. */
export interface UsablePack {
  readonly id: number
  readonly sourceBytes: number
}

/** What the program counts against. */
export interface TreeLimits {
  readonly files: number
  readonly sourceBytes: number
  readonly indexBytes: number
}

/** Asks for a tree to be sealed. */
export interface SealJob {
  readonly kind: 'seal'
  readonly level: number
  readonly exclude: readonly ExcludeRule[]
  /** Nothing but these paths and what lies below them. */
  readonly only?: readonly string[]
  readonly limits: TreeLimits
  /** Packs with content worth keeping; what lies in others is read and stored again. */
  readonly packs: readonly UsablePack[]
  readonly nextPack: number
  readonly hasBaseline: boolean
}

/** Asks for a tree to be written. */
export interface RestoreJob {
  readonly kind: 'restore'
  readonly limits: TreeLimits
  /** Every pack that will come. */
  readonly packs: readonly UsablePack[]
  /** Names at the top of the target that are no part of the tree and stay. */
  readonly keep: readonly string[]
}

/** Asks for whatever a restore has left to be removed. */
export interface ClearJob {
  readonly kind: 'clear'
  readonly keep: readonly string[]
}

/** Bounds of presented files that one emptying of the outbox may keep (interface 8.5). */
export interface PresentedLimits {
  readonly eachBytes: number
  readonly totalBytes: number
  readonly count: number
}

/** Asks for what the agent has presented. */
export interface OutboxJob {
  readonly kind: 'outbox'
  /** Names the batch: what was taken out under the same name and not recorded is part of it, any other is removed. */
  readonly batch: string
  readonly limits: PresentedLimits
}

/** A file in the outbox. */
export interface PresentedEntry {
  /** Bytes of the name, each one character. */
  readonly name: string
  readonly sizeBytes: number
  /** The bound that it is over; its content does not follow then. */
  readonly over?: keyof PresentedLimits
}

/** The end of what the outbox held. */
export interface OutboxReady {
  /** There was more than is looked at. */
  readonly more: boolean
}

export type TreeJob = SealJob | RestoreJob | ClearJob | OutboxJob

/** What was left out of a sealed tree. */
export interface Omitted {
  readonly sockets: number
  readonly fifos: number
  readonly devices: number
  /** Left out by rule: directories, and whatever has the name that restores use. */
  readonly excluded: number
  /** Paths longer than any program can name in one call. */
  readonly tooLong: number
}

/** Totals of a tree. */
export interface TreeTotals {
  readonly files: number
  readonly directories: number
  readonly links: number
  readonly sourceBytes: number
}

/** A sealed tree, as the program reports it. */
export interface SealDone extends TreeTotals {
  /** Bytes of content that were read; the rest is known from before. */
  readonly readBytes: number
  readonly omitted: Omitted
  /** For each pack with content of this tree, how many of its source bytes that is. */
  readonly live: readonly (readonly [pack: number, bytes: number])[]
}

export type LimitName = 'files' | 'source' | 'index'

/** Why a program gave up. */
export type TreeFailure =
  | {
      readonly code: 'over_limit'
      readonly limit: LimitName
      /** Bytes, or a count of files, directories and links. */
      readonly atLeast: number
      /** Of file content, as far as a seal had come. */
      readonly sourceBytes?: number
    }
  /** The index says what no sealed tree says. */
  | { readonly code: 'malformed'; readonly message: string }
  | { readonly code: 'target_not_empty' }
  | { readonly code: 'no_space' }
  | { readonly code: 'system'; readonly message: string }

/** Ends a program's work; its message never holds a path of the tree. */
export class TreeError extends Error {
  override readonly name = 'TreeError'
  readonly failure: TreeFailure

  constructor(failure: TreeFailure, options?: ErrorOptions) {
    super('message' in failure ? `${failure.code}: ${failure.message}` : failure.code, options)
    this.failure = failure
  }
}
