import type { Interruption } from '@berth/client'
import { formatDuration } from '@berth/client/transcript'
import type { Output } from '../output.ts'

/** Longest random pause before a follower in a terminal subscribes again: a person waits for the service to be back. */
const watchedDelayMs = 3_000

/** Returns how a follower reconnects: soon where a person watches, else as far apart as programs should. */
export const paceOf = (stdout: Pick<Output, 'isTerminal'>): { readonly maxDelayMs?: number } =>
  stdout.isTerminal ? { maxDelayMs: watchedDelayMs } : {}

/** Returns the notice for a reconnection; null if it is routine. */
export function noticeOf(interruption: Interruption): string | null {
  if (interruption.fault === null && interruption.failures === 0) return null
  const cause = interruption.fault instanceof Error ? interruption.fault.message : 'the stream ended early'
  return `connection lost (${cause}); reconnecting in ${formatDuration(interruption.delayMs)}`
}
