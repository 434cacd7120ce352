import type { HelperBound } from '@berth/sandboxes/helper-bounds.ts'

/** The tree program failed; the previous checkpoint is unchanged. */
export class SealFailed extends Error {
  override readonly name = 'SealFailed'
  /** The bound that the program exceeded, and would exceed again. */
  readonly bound: HelperBound | undefined

  constructor(message: string, options: ErrorOptions & { readonly bound?: HelperBound | undefined } = {}) {
    super(message, options)
    this.bound = options.bound
  }
}

/** A tree holds one of the secrets that it must not hold. */
export class SecretFound extends Error {
  override readonly name = 'SecretFound'
  /** The first path of the tree that holds one. */
  readonly path: string

  constructor(path: string) {
    super('the tree holds a secret')
    this.path = path
  }
}

/**
 * Why a checkpoint was not restored. `missing`, `corrupt`, `malformed` and `over_limit` mean that it never will be.
 * `target_not_empty`, `target_full` and `failed` are about the target or this host.
 */
export type RestoreRefusal =
  | 'missing'
  | 'corrupt'
  | 'malformed'
  | 'over_limit'
  | 'target_not_empty'
  | 'target_full'
  | 'failed'

/** A restore was refused or failed; the target holds nothing of it. */
export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused'
  readonly code: RestoreRefusal

  constructor(code: RestoreRefusal, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
