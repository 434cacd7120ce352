import type { LeaseRow } from './lease-sql.ts'

/** Of a lease's whole time: what must be left of it for a Run to begin on it, and what is set aside for sealing. */
const FRESH_SHARE = 1 / 4
const SEALING_SHARE = 1 / 20
const MAX_SEALING_MS = 5 * 60_000

type Bounds = Pick<LeaseRow, 'created_at' | 'bound_at'>

const wholeMs = ({ created_at, bound_at }: Bounds): number => bound_at.getTime() - created_at.getTime()

/** When work on a lease ends, so that what it leaves is sealed ahead of the lease's bound. */
export function workEndsAt(lease: Bounds): Date {
  return new Date(lease.bound_at.getTime() - Math.min(MAX_SEALING_MS, wholeMs(lease) * SEALING_SHARE))
}

/**
 * Whether a Run that begins now is better off on a lease of its own: the last quarter of this one may be too short for
 * it, and a restore takes seconds.
 */
export function isNearBound(lease: Bounds, now: Date): boolean {
  return lease.bound_at.getTime() - now.getTime() < wholeMs(lease) * FRESH_SHARE
}
