import type { LimitName } from '@berth/supervisor/tree'

/** A tree that does not fit. */
export interface OverCap {
  readonly kind: 'over_cap'
  readonly cap: 'stored' | 'manifest' | LimitName
  readonly limit: number
  /** What it had come to when it was given up: bytes, or for `files` a count. */
  readonly atLeast: number
  /** Content of its files when it was given up, where that is known. */
  readonly sourceBytes?: number
}

/** Where an attempt found its tree too large. */
export class CapExceeded extends Error {
  readonly result: OverCap

  constructor(result: OverCap) {
    super(`over the cap of ${result.cap}`)
    this.result = result
  }
}

/** @throws CapExceeded */
export function refuseOver(cap: OverCap['cap'], limit: number, size: number): void {
  if (size > limit) throw new CapExceeded({ kind: 'over_cap', cap, limit, atLeast: size })
}
