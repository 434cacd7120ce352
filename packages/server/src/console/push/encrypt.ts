import { createECDH } from 'node:crypto'
import { encryptNotification } from '@block65/webcrypto-web-push'

/** The keys of a browser's subscription. */
export interface SubscriberKeys {
  /** Its public key, 65 bytes. */
  readonly p256dh: Uint8Array
  /** The secret that it shares with this service alone, 16 bytes. */
  readonly auth: Uint8Array
}

/** Returns true if a public key is an uncompressed point of the curve of RFC 8291: nothing is encrypted to another. */
export function isPublicKey(key: Uint8Array): boolean {
  const own = createECDH('prime256v1')
  own.generateKeys()
  try {
    own.computeSecret(key)
    return key.length === 65 && key[0] === 4
  } catch {
    return false
  }
}

/**
 * Encrypts a message to a browser as RFC 8291 says: the push service that carries it reads nothing of it, and its length,
 * which is padded to the 4096 bytes of a record, tells nothing either.
 *
 * @throws Error if the message is longer than a record
 */
export function encryptPush(message: Uint8Array<ArrayBuffer>, { p256dh, auth }: SubscriberKeys): Promise<Uint8Array> {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  // The address is not read: the request is dialled by whoever posts it.
  const subscription = { endpoint: '', expirationTime: null, keys: { p256dh: text(p256dh), auth: text(auth) } }
  return encryptNotification(subscription, message)
}
