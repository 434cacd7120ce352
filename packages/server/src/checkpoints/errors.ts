import type { HelperBound } from '../sandboxes/confined/helper-bounds.ts'

/** The process beside a tree failed; the checkpoint before is as it was. */
export class SealFailed extends Error {
  override readonly name = 'SealFailed'
  /** The bound that the process went over: the next would as well. */
  readonly bound: HelperBound | undefined

  constructor(message: string, options: ErrorOptions & { readonly bound?: HelperBound | undefined } = {}) {
    super(message, options)
    this.bound = options.bound
  }
}

/**
 * Why a checkpoint is not restored. `missing`, `corrupt`, `malformed` and `over_limit` say that it never will be;
 * `target_not_empty`, `target_full` and `failed` are of the target or of this host.
 */
export type RestoreRefusal =
  | 'missing'
  | 'corrupt'
  | 'malformed'
  | 'over_limit'
  | 'target_not_empty'
  | 'target_full'
  | 'failed'

/** A restore did not happen; the target holds nothing of it. */
export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused'
  readonly code: RestoreRefusal

  constructor(code: RestoreRefusal, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
