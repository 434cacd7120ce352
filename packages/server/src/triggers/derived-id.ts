import { createHash } from 'node:crypto'

/**
 * Returns the id of the Session, Turn or report of a delivery, or of the Session of a conversation: always the same for the same
 * trigger and key, and nobody else's. It is a UUID of version 8, whose bits are a digest.
 */
export function derivedId(kind: 'session' | 'thread' | 'turn' | 'report', triggerId: string, key: string): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([kind, triggerId, key]))
    .digest()
    .subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
