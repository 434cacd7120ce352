import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Context } from '@berth/core/context.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { SignJWT } from 'jose'
import { findPushKey, type PushKeyRow, writePushKey } from './push-key-sql.ts'

/** Where the private key is sealed for. */
const place = 'push-key'
/** A push service takes a token for a day at most. */
const TOKEN_HOURS = 12

/** The key pair with which the deployment proves to push services who sends. */
export interface PushKeys {
  /** Uncompressed point, in base64url, with which a browser subscribes. */
  readonly publicKey: string
  /**
   * Returns the value of `Authorization` for a push service (RFC 8292).
   * @param contact an address of whoever runs the deployment
   */
  authorize(endpoint: URL, contact: string, now: Date): Promise<string>
}

/** Reads the key pair of the deployment; the first process that asks makes it. */
export async function readPushKeys({ db }: Pick<Context, 'db'>, masterKey: MasterKey): Promise<PushKeys> {
  let row = await findPushKey(db)
  if (row === null) {
    await writePushKey(db, drawn(masterKey))
    row = await findPushKey(db)
  }
  if (row === null) throw new Error('the key of pushes was not stored')
  const publicKey = row.public_key.toString('base64url')
  const privateKey = createPrivateKey({
    key: masterKey.open(row.sealed_private_key, place),
    format: 'der',
    type: 'pkcs8',
  })
  return { publicKey, authorize: (...args) => authorized(privateKey, publicKey, ...args) }
}

async function authorized(
  key: KeyObject,
  publicKey: string,
  { origin }: URL,
  contact: string,
  now: Date,
): Promise<string> {
  const token = await new SignJWT({ sub: contact })
    .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
    .setAudience(origin)
    .setExpirationTime(Math.floor(now.getTime() / 1000) + TOKEN_HOURS * 3600)
    .sign(key)
  return `vapid t=${token}, k=${publicKey}`
}

function drawn(masterKey: MasterKey): PushKeyRow {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return {
    public_key: Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]),
    sealed_private_key: masterKey.seal(privateKey.export({ format: 'der', type: 'pkcs8' }), place),
  }
}
