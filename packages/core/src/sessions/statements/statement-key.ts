import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { StatementKey } from '@berth/contract'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { calculateJwkThumbprint } from 'jose'

/** A stored key that signs statements, or has signed them. */
export interface StatementKeyRow {
  readonly kid: string
  readonly public_jwk: { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }
  /** Null once it has signed for the last time. */
  readonly sealed_private: Buffer | null
  readonly signs_from: Date
  readonly signs_until: Date
  readonly revoked_at: Date | null
}

/** An opened key that signs statements now. */
export interface StatementSigner {
  readonly kid: string
  readonly privateKey: KeyObject
}

const contextOf = (kid: string) => `statement-key/${kid}`

/** Makes an Ed25519 key and seals its private half. */
export async function makeStatementKey(
  masterKey: MasterKey,
): Promise<Pick<StatementKeyRow, 'kid' | 'public_jwk'> & { readonly sealed_private: Buffer }> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const public_jwk = { kty: 'OKP', crv: 'Ed25519', x } as const
  const kid = await calculateJwkThumbprint(public_jwk)
  const der = privateKey.export({ format: 'der', type: 'pkcs8' })
  return { kid, public_jwk, sealed_private: masterKey.seal(der, contextOf(kid)) }
}

/**
 * Opens the private half of a stored key.
 * @throws UnsealError if another master key has sealed it
 */
export function openStatementKey(masterKey: MasterKey, kid: string, sealed: Buffer): StatementSigner {
  const der = masterKey.open(sealed, contextOf(kid))
  return { kid, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
}

/** Returns the public half as the key set shows it. */
export function toStatementKey({
  kid,
  public_jwk,
  signs_from,
  signs_until,
  revoked_at,
}: StatementKeyRow): StatementKey {
  return {
    ...public_jwk,
    kid,
    alg: 'EdDSA',
    use: 'sig',
    nbf: seconds(signs_from),
    exp: seconds(signs_until),
    ...(revoked_at !== null && { revoked: { revoked_at: seconds(revoked_at) } }),
  }
}

const seconds = (at: Date): number => Math.floor(at.getTime() / 1000)
