import { createPrivateKey, generateKeyPair, type JsonWebKey, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { calculateJwkThumbprint } from 'jose'
import type { SigningKeyRow } from './signing-key-sql.ts'

/** An opened key that signs tokens. */
export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicJwk: JsonWebKey
  /** The key signs new tokens until then. */
  readonly signsUntil: Date
}

const generate = promisify(generateKeyPair)

const contextOf = (kid: string) => `signing-key/${kid}`

/** Makes an RS256 key and seals its private half. */
export async function makeSigningKey(
  masterKey: MasterKey,
): Promise<Pick<SigningKeyRow, 'kid' | 'public_jwk' | 'sealed_private'>> {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: 2048 })
  const jwk = publicKey.export({ format: 'jwk' })
  const kid = await calculateJwkThumbprint({ kty: 'RSA', n: jwk.n ?? '', e: jwk.e ?? '' })
  const der = privateKey.export({ format: 'der', type: 'pkcs8' })
  return {
    kid,
    public_jwk: { ...jwk, kid, alg: 'RS256', use: 'sig' },
    sealed_private: masterKey.seal(der, contextOf(kid)),
  }
}

/**
 * Opens a stored key.
 * @throws UnsealError if another master key has sealed it
 */
export function openSigningKey(masterKey: MasterKey, row: SigningKeyRow): SigningKey {
  const der = masterKey.open(row.sealed_private, contextOf(row.kid))
  return {
    kid: row.kid,
    privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }),
    publicJwk: row.public_jwk,
    signsUntil: row.signs_until,
  }
}
