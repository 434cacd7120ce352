import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'

/** The curve of RFC 8291: a public key has 65 bytes, uncompressed. */
const curve = 'prime256v1'
/** One record holds the whole message, with 103 bytes around it; push services take 4096 bytes. */
const recordBytes = 4096
const mostBytes = recordBytes - 103
/** Shorter messages are padded to so many bytes, so that their length tells nobody what they say. */
const paddedBytes = 1024

/** The keys of a browser's subscription. */
export interface SubscriberKeys {
  /** Its public key, 65 bytes. */
  readonly p256dh: Uint8Array
  /** The secret that it shares with this service alone, 16 bytes. */
  readonly auth: Uint8Array
}

/** What a message must never share with another one; a test of the RFC's example gives its own. */
interface Once {
  readonly privateKey: Uint8Array
  readonly salt: Uint8Array
  /** So many zero bytes follow the message. */
  readonly padding: number
}

/** Returns true if a public key is a point of the curve, so that something can be encrypted to it. */
export function isPublicKey(key: Uint8Array): boolean {
  const own = createECDH(curve)
  own.generateKeys()
  try {
    own.computeSecret(key)
    return key.length === 65
  } catch {
    return false
  }
}

/**
 * Encrypts a message to a browser as RFC 8291 says: the push service that carries it reads nothing of it.
 *
 * @throws RangeError if the message is longer than a record
 */
export function encryptPush(message: Uint8Array, { p256dh, auth }: SubscriberKeys, once = drawn(message)): Buffer {
  if (message.length + once.padding > mostBytes) throw new RangeError('the message is too long to be pushed')
  const own = createECDH(curve)
  own.setPrivateKey(once.privateKey)
  const ownPublic = own.getPublicKey()
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, ownPublic])
  const secret = derived(own.computeSecret(p256dh), auth, info, 32)
  const key = derived(secret, once.salt, 'Content-Encoding: aes128gcm\0', 16)
  const nonce = derived(secret, once.salt, 'Content-Encoding: nonce\0', 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  // The delimiter of the last record ends the message; the padding follows it.
  const sealed = [cipher.update(message), cipher.update(Buffer.of(2)), cipher.update(Buffer.alloc(once.padding))]
  const size = Buffer.alloc(4)
  size.writeUInt32BE(recordBytes)
  const header = [once.salt, size, Buffer.of(ownPublic.length), ownPublic]
  return Buffer.concat([...header, ...sealed, cipher.final(), cipher.getAuthTag()])
}

function drawn(message: Uint8Array): Once {
  const own = createECDH(curve)
  own.generateKeys()
  const padding = Math.max(0, paddedBytes - message.length)
  return { privateKey: own.getPrivateKey(), salt: randomBytes(16), padding }
}

const derived = (secret: Uint8Array, salt: Uint8Array, info: string | Uint8Array, bytes: number): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, salt, info, bytes))
