import { createHmac, randomBytes } from 'node:crypto'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'

/** Makes the secret of an endpoint. */
export const makeSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`

const placeOf = (endpointId: string): string => `webhook-endpoint/${endpointId}`

/** Seals the secret of an endpoint for its row. */
export const sealSecret = (masterKey: MasterKey, endpointId: string, secret: string): Buffer =>
  masterKey.seal(secret, placeOf(endpointId))
/** @throws UnsealError if another master key sealed it */
export const openSecret = (masterKey: MasterKey, endpointId: string, sealed: Uint8Array): string =>
  masterKey.open(sealed, placeOf(endpointId)).toString()

/**
 * Returns the value of `Svc-Signature` for a body.
 * @param at time of the attempt, signed to the second
 */
export function signBody(secret: string, body: string, at: Date): string {
  const seconds = Math.floor(at.getTime() / 1000)
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex')}`
}
