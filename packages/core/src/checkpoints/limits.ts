const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** Caps of a checkpoint. One that exceeds a cap is not kept; the previous one stays. */
export interface CheckpointLimits {
  /** Of all blobs of the checkpoint, as stored. */
  readonly storedBytes: number
  readonly manifestBytes: number
  /** Of file content before compression; also bounds a decompression bomb. */
  readonly sourceBytes: number
  /** Files, directories and links. */
  readonly files: number
  /** Of the file list before compression. */
  readonly indexBytes: number
}

/** Caps of a workspace; the sandbox's disk bounds its source much earlier. */
export const workspaceLimits: CheckpointLimits = {
  storedBytes: 256 * MiB,
  manifestBytes: 64 * KiB,
  sourceBytes: 16 * GiB,
  files: 1_000_000,
  indexBytes: 256 * MiB,
}

/** Caps of a home. It shares the workspace's stored bytes: it may have those that the workspace has left. */
export const homeLimits: CheckpointLimits = { ...workspaceLimits, files: 200_000 }

/** Caps of the workspace and of the home of an environment's image. */
export const imageLimits: CheckpointLimits = { ...workspaceLimits, storedBytes: GiB, files: 200_000 }

/** Caps of the paths that a foreign runtime declares as its state. */
export const foreignRuntimeLimits: CheckpointLimits = {
  ...workspaceLimits,
  manifestBytes: 32 * KiB,
  sourceBytes: GiB,
  files: 32,
}

/** Caps of the cached paths of a sandbox, home and workspace together. */
export const cacheLimits: CheckpointLimits = {
  ...workspaceLimits,
  storedBytes: GiB,
  files: 200_000,
}
