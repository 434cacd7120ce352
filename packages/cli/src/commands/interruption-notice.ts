import type { Interruption } from '@berth/client'
import { durationText } from '../event-data.ts'

/** What to tell a person about a reconnection; null where it is routine. */
export function noticeOf(interruption: Interruption): string | null {
  if (interruption.fault === null && interruption.failures === 0) return null
  const cause = interruption.fault instanceof Error ? interruption.fault.message : 'the stream ended early'
  return `connection lost (${cause}); back in ${durationText(interruption.delayMs)}`
}
