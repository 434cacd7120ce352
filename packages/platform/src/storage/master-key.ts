import { createCipheriv, createDecipheriv, createHash, createHmac, hash, hkdfSync, randomBytes } from 'node:crypto'

const version = 1
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16
const headerBytes = 1 + keyIdBytes + nonceBytes

/** The sealed secret was altered, belongs to another context, or was sealed under another master key. */
export class UnsealError extends Error {
  override readonly name = 'UnsealError'
}

/**
 * The key that seals secrets at rest. The database never holds it, so a copy of the database alone reveals no secret.
 */
export class MasterKey {
  readonly #key: Buffer
  readonly #sealing: Buffer
  readonly #digesting: Buffer
  readonly #id: Buffer

  /** @param key 32 bytes */
  constructor(key: Uint8Array) {
    if (key.length !== 32) throw new TypeError('a master key has 32 bytes')
    this.#key = Buffer.from(key)
    this.#sealing = derive(key, 'seal')
    this.#digesting = derive(key, 'digest')
    this.#id = createHash('sha256').update(derive(key, 'id')).digest().subarray(0, keyIdBytes)
  }

  /** Eight hexadecimal digits that name the key without revealing it. */
  get id(): string {
    return this.#id.toString('hex')
  }

  /** Every spelling in which people write the key down, so that logs can mask them. */
  get spellings(): readonly string[] {
    const base64 = this.#key.toString('base64')
    return [base64, base64.slice(0, -1), this.#key.toString('base64url'), this.#key.toString('hex')]
  }

  /** Returns the same 32 bytes for the same secret. Without this key, nobody can test a guess against them. */
  digest(secret: string): Buffer {
    return createHmac('sha256', this.#digesting).update(secret).digest()
  }

  /**
   * Returns 32 bytes that are the same for the same purpose, and tell nothing of the key or of another purpose. What is
   * made of them need not be stored.
   */
  derive(purpose: string): Buffer {
    return derive(this.#key, `derived/${purpose}`)
  }

  /**
   * Seals a secret with AES-256-GCM and a fresh nonce.
   * @param context the owner of the secret, such as `environment/<id>/<name>`; the secret opens in no other context
   */
  seal(plaintext: string | Uint8Array, context: string): Buffer {
    const header = Buffer.concat([Buffer.of(version), this.#id, randomBytes(nonceBytes)])
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, header.subarray(-nonceBytes))
    cipher.setAAD(associate(header, context))
    return Buffer.concat([header, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
  }

  /**
   * Opens a secret that `seal` made in the same context.
   * @throws UnsealError
   */
  open(sealed: Uint8Array, context: string): Buffer {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
    if (bytes.length < headerBytes + tagBytes || bytes[0] !== version) throw new UnsealError('not a sealed secret')
    const header = bytes.subarray(0, headerBytes)
    const keyId = header.subarray(1, 1 + keyIdBytes)
    if (!keyId.equals(this.#id)) {
      throw new UnsealError(`sealed under master key ${keyId.toString('hex')}, this one is ${this.id}`)
    }
    const decipher = createDecipheriv('aes-256-gcm', this.#sealing, header.subarray(-nonceBytes))
    decipher.setAAD(associate(header, context))
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(headerBytes, -tagBytes)), decipher.final()])
    } catch (error) {
      throw new UnsealError('altered, or sealed for another context', { cause: error })
    }
  }
}

/** Returns the id of the key that sealed a secret, spelled like {@link MasterKey.id}. */
export function sealedUnder(sealed: Uint8Array): string {
  return Buffer.from(sealed.subarray(1, 1 + keyIdBytes)).toString('hex')
}

/**
 * Digest under which a credential of at least 128 random bits is stored and looked up. It needs no key: nobody can
 * guess its input, and the timing of an index lookup helps nobody.
 */
export function credentialDigest(credential: string): Buffer {
  return hash('sha256', credential, 'buffer')
}

/** Reads 32 bytes from base64, base64url or hexadecimal digits; returns undefined if the text is none of these. */
export function parseMasterKey(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length === 32 ? key : undefined
}

function derive(key: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `berth/${purpose}`, 32))
}

function associate(header: Buffer, context: string): Buffer {
  return Buffer.concat([header, Buffer.from(context)])
}

/** Returns the key with which a handle of the database seals. */
export function masterKeyOf({ masterKey }: { readonly masterKey?: MasterKey | undefined }): MasterKey {
  if (masterKey === undefined) throw new Error('this process has no master key')
  return masterKey
}
