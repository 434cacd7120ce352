import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import type { Permission, Role } from '@berth/contract'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { calculateJwkThumbprint, SignJWT } from 'jose'
import { Api } from '../api/api.ts'
import { startTestService, type TestService } from '../services/service.ts'
import { personToken, type SignedIn, signInPerson, startSigner } from './signer.ts'

/** A key pair of an app, as its backend holds it. */
export interface AppKeyPair {
  readonly privateKey: KeyObject
  readonly publicKeyPem: string
  readonly kid: string
}

/** A service with its account service, and people of its organizations. */
export interface Accounts extends AsyncDisposable {
  readonly test: TestService
  /** The key with which the service seals. */
  readonly masterKey: MasterKey
  /** The issuer of this deployment: the audience of assertions. */
  readonly issuer: string
  /** Someone of an organization, by default the tenant's, with the permissions given. */
  person(of: { organizationId?: string; role?: Role; permissions?: readonly Permission[] }): Promise<{
    readonly api: Api
    readonly who: SignedIn
  }>
}

/** Starts the API and the account service in this process, with the master key of its variables if there is one. */
export async function startAccounts(options: Parameters<typeof startTestService>[0] = {}): Promise<Accounts> {
  const { variables, ...more } = options
  const given = variables?.['BERTH_MASTER_KEY']
  const key = given === undefined ? randomBytes(32) : Buffer.from(given, 'hex')
  const masterKey = new MasterKey(key)
  const test = await startTestService({
    ...more,
    variables: { BERTH_ROLES: 'api,account,gateway', BERTH_MASTER_KEY: key.toString('hex'), ...variables },
  })
  const { authUrl } = test.service.settings.urls
  const signer = await startSigner(test.db.database, authUrl, masterKey)
  return {
    test,
    masterKey,
    issuer: signer.issuer,
    async person({ organizationId = test.tenant.organizationId, ...options }) {
      const who = await signInPerson(test.db.database, organizationId, options)
      return { who, api: new Api(test.url, await personToken(signer.mint, who)) }
    },
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  }
}

/** Makes a key pair of an app. */
export async function makeAppKey(): Promise<AppKeyPair> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    privateKey,
    publicKeyPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    kid: await calculateJwkThumbprint(publicKey.export({ format: 'jwk' }) as { kty: 'OKP'; crv: string; x: string }),
  }
}

/** Signs an assertion as an app's backend does; `claims` and `header` replace what it says. */
export function assert(
  key: AppKeyPair,
  slug: string,
  audience: string,
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({ iss: slug, sub: slug, aud: audience, iat: now, exp: now + 540, ...claims })
    .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, ...header })
    .sign(key.privateKey)
}
