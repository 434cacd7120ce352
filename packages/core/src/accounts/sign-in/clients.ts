import type { FirstPartyClientConfig } from '@berth/platform/settings/first-party-clients.ts'
import type { ClientMetadata } from 'oidc-provider'
import { cloudClient } from '../../identity/tokens/token-types.ts'
import type { ClientKey } from './client-key.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** The resource of people's access tokens; the tokens name their client as the audience. */
export const CLOUD_RESOURCE = 'urn:svc:cloud'

/** The back end of the console. */
export const consoleClient = 'svc-console'

/** Programs on people's machines: no secret, and any port of the loopback redirects (RFC 8252, section 7.3). */
const programs: ClientMetadata = {
  client_id: cloudClient,
  client_name: 'Berth',
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
  response_types: ['code'],
  redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
  post_logout_redirect_uris: ['http://127.0.0.1/signed-out', 'http://[::1]/signed-out'],
}

/** What confidential clients share. Their own tokens open nothing here: they exchange them for a delegation. */
const confidential = {
  application_type: 'web',
  grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
  response_types: ['code'],
} as const satisfies Partial<ClientMetadata>

/** Returns the clients of a deployment: the service's own, and those of the configuration file. */
export function clientsOf(
  consoleUrl: string,
  consoleKey: Pick<ClientKey, 'publicJwk'>,
  firstParty: readonly FirstPartyClientConfig[],
): ClientMetadata[] {
  return [
    programs,
    {
      ...confidential,
      client_id: consoleClient,
      client_name: 'Berth console',
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...consoleKey.publicJwk }] },
      redirect_uris: [`${consoleUrl.replace(/\/$/, '')}/cloud/auth/callback`],
      ...asConsole(consoleUrl),
    } as ClientMetadata,
    ...firstParty.map(toClient),
  ]
}

/** A console shows a page after signing out, and asks for recent proof, so it has to learn when there was some. */
const asConsole = (url: string) => ({
  post_logout_redirect_uris: [`${url.replace(/\/$/, '')}/signed-out`],
  require_auth_time: true,
})

function toClient({ id, name, redirectUris, consoleUrl, proof }: FirstPartyClientConfig): ClientMetadata {
  const shown = {
    ...confidential,
    client_id: id,
    client_name: name,
    redirect_uris: [...redirectUris],
    ...(consoleUrl !== null && asConsole(consoleUrl)),
  }
  return 'secret' in proof
    ? { ...shown, token_endpoint_auth_method: 'client_secret_basic', client_secret: proof.secret }
    : ({
        ...shown,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: proof.keys.map(key => ({ ...key })) },
      } as ClientMetadata)
}
