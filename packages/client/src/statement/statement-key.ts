import type { StatementKey } from '../generated/types.ts'
import { isRecord } from './read-signed.ts'

/**
 * Returns the key with this id of a key set; null if the set has none.
 * @throws TypeError if the value is no key set, or the key is damaged: its id is the digest of it
 */
export async function findStatementKey(keySet: unknown, kid: string): Promise<StatementKey | null> {
  const keys = isRecord(keySet) ? keySet['keys'] : undefined
  if (!Array.isArray(keys)) throw new TypeError('the file of keys has no list of keys')
  const found: unknown = keys.find(key => isRecord(key) && key['kid'] === kid)
  if (found === undefined) return null
  if (!isStatementKey(found) || (await thumbprint(found.x)) !== kid) {
    throw new TypeError(`the key ${kid} is damaged: fetch the keys again`)
  }
  return found
}

function isStatementKey(value: unknown): value is StatementKey {
  if (!isRecord(value)) return false
  const { kty, crv, x, nbf, exp, revoked } = value
  return (
    kty === 'OKP' &&
    crv === 'Ed25519' &&
    typeof x === 'string' &&
    Number.isInteger(nbf) &&
    Number.isInteger(exp) &&
    (revoked === undefined || (isRecord(revoked) && Number.isInteger(revoked['revoked_at'])))
  )
}

/** Returns the RFC 7638 thumbprint of an Ed25519 key. */
async function thumbprint(x: string): Promise<string> {
  const members = new TextEncoder().encode(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', members))
  return btoa(String.fromCharCode(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
