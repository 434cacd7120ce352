import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'

/** OpenSSL would derive a public key from the PEM of a private one, so only this label is handed to it. */
const spkiPem = /^\s*-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$/

/** A public key of an app, with its RFC 7638 thumbprint. */
export interface PublicKey {
  readonly kid: string
  readonly publicJwk: JsonWebKey
}

/** Reads an Ed25519 public key from SPKI PEM. @returns null for anything else */
export async function readPublicKey(pem: string): Promise<PublicKey | null> {
  if (!spkiPem.test(pem)) return null
  const jwk = parse(pem.trim())
  if (jwk?.crv !== 'Ed25519' || jwk.x === undefined) return null
  const publicJwk = { kty: 'OKP', crv: 'Ed25519', x: jwk.x }
  return { kid: await calculateJwkThumbprint(publicJwk), publicJwk }
}

function parse(pem: string): JsonWebKey | null {
  try {
    return createPublicKey({ key: pem, format: 'pem', type: 'spki' }).export({ format: 'jwk' })
  } catch {
    return null
  }
}
