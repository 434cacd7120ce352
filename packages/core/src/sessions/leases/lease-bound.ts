import type { LeaseRow } from './lease-sql.ts'

/**
 * Shares of a lease's whole time: the least that must be left for a Run to begin on it, and the part kept for sealing.
 */
const FRESH_SHARE = 1 / 4
const SEALING_SHARE = 1 / 20
const MAX_SEALING_MS = 5 * 60_000

type Bounds = Pick<LeaseRow, 'created_at' | 'bound_at'>

const wholeMs = ({ created_at, bound_at }: Bounds): number => bound_at.getTime() - created_at.getTime()

/** Returns when work on a lease must end, so that its workspace is sealed before the lease's bound. */
export function workEndsAt(lease: Bounds): Date {
  return new Date(lease.bound_at.getTime() - Math.min(MAX_SEALING_MS, wholeMs(lease) * SEALING_SHARE))
}

/**
 * Returns true if a Run that begins now should get a new lease: the last quarter of this one may be too short for it,
 * and a restore takes seconds.
 */
export function isNearBound(lease: Bounds, now: Date): boolean {
  return lease.bound_at.getTime() - now.getTime() < wholeMs(lease) * FRESH_SHARE
}
