import { provideClientKey } from '@berth/core/accounts/sign-in/client-key.ts'
import { consoleClient } from '@berth/core/accounts/sign-in/clients.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { ClientAuth } from 'openid-client'

/** Returns the console's name at the account service, and how it proves it. */
export type ClientProof = (
  openid: typeof import('openid-client'),
) => Promise<{ readonly id: string; readonly authenticate: ClientAuth }>

/** The proof beside an account service of the same database: a key of its own, which is sealed there. */
export function proofByKey(context: {
  readonly db: Queryable
  readonly clock: Clock
  readonly masterKey: MasterKey
}): ClientProof {
  return async openid => {
    const { privateKey, publicJwk } = await provideClientKey(context, consoleClient)
    const key = privateKey.toCryptoKey('Ed25519', false, ['sign'])
    const authenticate = openid.PrivateKeyJwt(
      { key, kid: publicJwk.kid },
      {
        // The key is registered under the older name of the algorithm.
        [openid.modifyAssertion]: header => {
          header['alg'] = 'EdDSA'
        },
      },
    )
    return { id: consoleClient, authenticate }
  }
}

/** The proof at an account service with another database: a secret that operators gave to both. */
export const proofBySecret =
  ({ clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string }): ClientProof =>
  async openid => ({ id: clientId, authenticate: openid.ClientSecretBasic(clientSecret) })
