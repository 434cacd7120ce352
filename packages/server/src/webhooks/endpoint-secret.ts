import { randomBytes } from 'node:crypto'
import type { MasterKey } from '../storage/master-key.ts'

/** Makes the secret of an endpoint. */
export const makeSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`

const placeOf = (endpointId: string): string => `webhook-endpoint/${endpointId}`

/** Seals the secret of an endpoint for its row. */
export const sealSecret = (masterKey: MasterKey, endpointId: string, secret: string): Buffer =>
  masterKey.seal(secret, placeOf(endpointId))
