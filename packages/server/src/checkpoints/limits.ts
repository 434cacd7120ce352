const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** What a checkpoint may be at most. Over one of these it is not kept, which costs it and never the one before. */
export interface CheckpointLimits {
  /** Of all blobs that the checkpoint names, as stored. */
  readonly storedBytes: number
  readonly manifestBytes: number
  /** Of file content, before compression; the bound of a decompression bomb too. */
  readonly sourceBytes: number
  /** Files, directories and links. */
  readonly files: number
  /** Of the file list, before compression. */
  readonly indexBytes: number
}

/** Of a workspace; its source is bounded by the sandbox's disk long before. */
export const workspaceLimits: CheckpointLimits = {
  storedBytes: 256 * MiB,
  manifestBytes: 64 * KiB,
  sourceBytes: 16 * GiB,
  files: 1_000_000,
  indexBytes: 256 * MiB,
}

/** Of what a foreign runtime declares as its state. */
export const foreignRuntimeLimits: CheckpointLimits = {
  ...workspaceLimits,
  manifestBytes: 32 * KiB,
  sourceBytes: GiB,
  files: 32,
}
