/**
 * The talk between a worker and the program that applies an environment inside a sandbox. The worker starts it through
 * the supervisor and gives it one line, an `ApplyOrder`. It answers with lines of `ApplyMessage`, the last of which is
 * an `end`.
 */

/** What the program is to do. */
export type ApplyOrder = { readonly clone: CloneOrder } | { readonly setup: SetupOrder }

/** Repositories to clone. */
export interface CloneOrder {
  /** The directory that holds them. */
  readonly directory: string
  readonly repositories: readonly CloneEntry[]
  /** All clones together are stopped after this long, whether or not a worker listens. */
  readonly timeoutMs: number
}

/** A repository to clone. */
export interface CloneEntry {
  readonly url: string
  /** Absent: the host's default. */
  readonly branch?: string
  /** Its directory, one name. */
  readonly path: string
}

/** A setup script. The program runs it with its own environment and directory. */
export interface SetupOrder {
  readonly script: string
  /** The script is killed after this long, whether or not a worker listens. */
  readonly timeoutMs: number
}

/**
 * A message of the program.
 *
 * - `out`: text that was written, in order; together at most `MAX_HEAD_BYTES`.
 * - `tail`: the end of all text, if there was more than that. It begins anywhere, perhaps within a word.
 * - `end`: the result.
 */
export type ApplyMessage = { readonly out: string } | { readonly tail: string } | { readonly end: CloneEnd | SetupEnd }

/** `kept`: something was at the path. `null`: another repository failed first, or the clones were stopped. */
export type CloneState = 'cloned' | 'kept' | 'failed' | null

/** How clones ended. */
export interface CloneEnd {
  /** A state for each repository, in their order. */
  readonly states: readonly CloneState[]
}

/** How a setup script ended. */
export interface SetupEnd {
  /** Null if it did not exit by itself. */
  readonly exitCode: number | null
  readonly timedOut: boolean
  /** What the script wrote to the file `$BERTH_ENV`. */
  readonly env: FileText
  /** What it wrote to the file `$BERTH_PATH`. */
  readonly path: FileText
}

/** The beginning of a file of the script's. */
export interface FileText {
  readonly text: string
  /** True if the file is longer; `text` then ends with a whole line. */
  readonly isCut: boolean
}

/** Bytes of output that are passed on as they come. */
export const MAX_HEAD_BYTES = 128 * 1024
/** Bytes of the end of longer output. What a worker shows of it is shorter by the longest secret. */
export const MAX_TAIL_BYTES = 64 * 1024
/** Bytes that are read of `$BERTH_ENV` and of `$BERTH_PATH`. */
export const MAX_FILE_BYTES = 64 * 1024
