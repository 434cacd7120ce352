import type { LimitName } from '@berth/supervisor/tree'

/** A tree that exceeds a cap. */
export interface OverCap {
  readonly kind: 'over_cap'
  readonly cap: 'stored' | 'manifest' | LimitName
  readonly limit: number
  /** The size when the seal was abandoned: bytes, or for `files` a count. */
  readonly atLeast: number
  /** Bytes of file content when the seal was abandoned, if known. */
  readonly sourceBytes?: number
  /** The path at which it was abandoned, if a seal that searches for secrets knows it. */
  readonly path?: string
}

/** A seal found its tree too large. */
export class CapExceeded extends Error {
  readonly result: OverCap
  /** Whether the cap may be met without dead content of earlier checkpoints. */
  readonly mayCompact: boolean

  constructor(result: OverCap, mayCompact = false) {
    super(`over the cap of ${result.cap}`)
    this.result = result
    this.mayCompact = mayCompact
  }
}

/** @throws CapExceeded */
export function refuseOver(cap: OverCap['cap'], limit: number, size: number, mayCompact = false): void {
  if (size > limit) throw new CapExceeded({ kind: 'over_cap', cap, limit, atLeast: size }, mayCompact)
}
