import type { ClientMetadata } from 'oidc-provider'
import { cloudClient } from '../../identity/tokens/token-types.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** The resource of people's access tokens; the tokens name its audience, `svc-cloud`. */
export const CLOUD_RESOURCE = 'urn:svc:cloud'

/**
 * The clients of this service. `svc-cloud` is for programs on people's machines: it has no secret, and a native client
 * may take any port of its loopback redirects (RFC 8252, section 7.3).
 */
export const clients: ClientMetadata[] = [
  {
    client_id: cloudClient,
    client_name: 'Berth',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
    response_types: ['code'],
    redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
    post_logout_redirect_uris: ['http://127.0.0.1/signed-out', 'http://[::1]/signed-out'],
  },
]
