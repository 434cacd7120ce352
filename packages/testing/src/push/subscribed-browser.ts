import { createDecipheriv, createECDH, hkdfSync, randomBytes, randomUUID } from 'node:crypto'

/** A browser that has subscribed: it has the private key. */
export class SubscribedBrowser {
  readonly id = randomUUID()
  readonly auth: Uint8Array
  readonly #keys = createECDH('prime256v1')

  constructor(privateKey: Uint8Array | null = null, auth: Uint8Array = randomBytes(16)) {
    if (privateKey === null) this.#keys.generateKeys()
    else this.#keys.setPrivateKey(privateKey)
    this.auth = auth
  }

  /** What the browser tells the service. */
  asks(endpoint: string, wishes: { needsYou?: boolean; runEnded?: boolean } = {}) {
    return {
      endpoint,
      p256dh: this.#keys.getPublicKey().toString('base64url'),
      auth: Buffer.from(this.auth).toString('base64url'),
      needsYou: true,
      runEnded: true,
      ...wishes,
    }
  }

  /** Decrypts a body as RFC 8291 says. */
  read(body: Buffer): string {
    const [salt, sender] = [body.subarray(0, 16), body.subarray(21, 86)]
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.#keys.getPublicKey(), sender])
    const secret = new Uint8Array(hkdfSync('sha256', this.#keys.computeSecret(sender), this.auth, info, 32))
    const part = (name: string, size: number) =>
      new Uint8Array(hkdfSync('sha256', secret, salt, `Content-Encoding: ${name}\0`, size))
    const decipher = createDecipheriv('aes-128-gcm', part('aes128gcm', 16), part('nonce', 12))
    decipher.setAuthTag(body.subarray(-16))
    const padded = Buffer.concat([decipher.update(body.subarray(86, -16)), decipher.final()])
    return padded.subarray(0, padded.lastIndexOf(2)).toString()
  }
}
