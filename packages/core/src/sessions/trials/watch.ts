/** A trial that nobody has read or followed for so long may be stopped. */
const WATCH_MS = 60_000

/** Pause between two renewals by an open stream. */
export const RENEW_MS = WATCH_MS / 4

/** Returns until when a trial counts as followed that somebody asks for now. */
export const watchedFrom = (now: Date): Date => new Date(now.getTime() + WATCH_MS)
