import type { Event } from '@berth/client'
import { logOf, useLog } from './logs.ts'

/** Returns the last Event of these types that the page has read; undefined if there is none. */
export const useLastEvent = (sessionId: string, types: readonly string[]): Event | undefined =>
  useLog(sessionId, () => logOf(sessionId).events.findLast(({ type }) => types.includes(type)))
