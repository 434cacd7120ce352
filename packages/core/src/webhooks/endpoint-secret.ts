import { createHmac, randomBytes } from 'node:crypto'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'

/** Makes the secret of an endpoint. */
export const makeSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`

const placeOf = (endpointId: string): string => `webhook-endpoint/${endpointId}`

/** Seals the secret of an endpoint for its row. */
export const sealSecret = (masterKey: MasterKey, endpointId: string, secret: string): Buffer =>
  masterKey.seal(secret, placeOf(endpointId))

/** Endpoints whose secrets stay opened; beyond, all are forgotten. */
const MOST_OPENED = 1_000

/** Opens the secrets of endpoints, each once as long as its row holds the same sealed bytes. */
export class EndpointSecrets {
  readonly #masterKey: MasterKey
  readonly #opened = new Map<string, { readonly sealed: Uint8Array; readonly secret: string }>()

  constructor(masterKey: MasterKey) {
    this.#masterKey = masterKey
  }

  /** @throws UnsealError if another master key sealed it */
  open(endpointId: string, sealed: Uint8Array): string {
    const opened = this.#opened.get(endpointId)
    if (opened !== undefined && Buffer.compare(opened.sealed, sealed) === 0) return opened.secret
    const secret = this.#masterKey.open(sealed, placeOf(endpointId)).toString()
    if (this.#opened.size >= MOST_OPENED) this.#opened.clear()
    this.#opened.set(endpointId, { sealed, secret })
    return secret
  }
}

/**
 * Returns the value of `Svc-Signature` for a body.
 * @param at time of the attempt, signed to the second
 */
export function signBody(secret: string, body: string, at: Date): string {
  const seconds = Math.floor(at.getTime() / 1000)
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex')}`
}
