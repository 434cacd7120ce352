import { digestId } from '@berth/platform/kit/uuid.ts'

/**
 * Returns the id of the Session, Turn, report or Publication of a delivery, or of the Session of a conversation: always the same for the same
 * trigger and key, and nobody else's.
 */
export function derivedId(
  kind: 'session' | 'thread' | 'turn' | 'report' | 'verification' | 'publication',
  triggerId: string,
  key: string,
): string {
  return digestId(JSON.stringify([kind, triggerId, key]))
}
