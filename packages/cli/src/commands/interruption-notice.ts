import type { Interruption } from '@berth/client'
import { durationText } from '../event-data.ts'

/** Returns the notice for a reconnection; null if it is routine. */
export function noticeOf(interruption: Interruption): string | null {
  if (interruption.fault === null && interruption.failures === 0) return null
  const cause = interruption.fault instanceof Error ? interruption.fault.message : 'the stream ended early'
  return `connection lost (${cause}); reconnecting in ${durationText(interruption.delayMs)}`
}
