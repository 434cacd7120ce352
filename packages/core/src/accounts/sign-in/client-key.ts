import { createPrivateKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import { calculateJwkThumbprint } from 'jose'

/** The key by which a client of the service itself signs its assertions. */
export interface ClientKey {
  readonly publicJwk: JsonWebKey & { readonly kid: string }
  readonly privateKey: KeyObject
}

interface Row {
  readonly public_jwk: ClientKey['publicJwk']
  readonly sealed_private: Buffer
}

const contextOf = (clientId: string) => `client-key/${clientId}`

/**
 * Returns the key of a client, and makes it if there is none. Of several processes that start at once, one makes it.
 * @throws UnsealError if another master key has sealed it
 */
export async function provideClientKey(
  { db, clock, masterKey }: { readonly db: Queryable; readonly clock: Clock; readonly masterKey: MasterKey },
  clientId: string,
): Promise<ClientKey> {
  const row = (await find(db, clientId)) ?? (await make(db, clientId, masterKey, clock.now()))
  const der = masterKey.open(row.sealed_private, contextOf(clientId))
  return { publicJwk: row.public_jwk, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) }
}

async function find(db: Queryable, clientId: string): Promise<Row | null> {
  return await queryRow<Row>(db, {
    text: 'select public_jwk, sealed_private from client_keys where client_id = $1',
    values: [clientId],
  })
}

async function make(db: Queryable, clientId: string, masterKey: MasterKey, now: Date): Promise<Row> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const jwk = { kty: 'OKP', crv: 'Ed25519', x }
  const publicJwk = { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'EdDSA', use: 'sig' }
  const sealed = masterKey.seal(privateKey.export({ format: 'der', type: 'pkcs8' }), contextOf(clientId))
  await db.query({
    text: `
      insert into client_keys (client_id, public_jwk, sealed_private, created_at) values ($1, $2, $3, $4)
      on conflict do nothing`,
    values: [clientId, JSON.stringify(publicJwk), sealed, now],
  })
  const kept = await find(db, clientId)
  if (kept === null) throw new Error('a client key was neither made nor found')
  return kept
}
