import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/** What a provider says about whoever signs in there. */
export interface Account {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
}

/** An OpenID provider on loopback that signs in at once whoever the test says. */
export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string
  readonly configuration: { readonly issuer: string; readonly clientId: string; readonly clientSecret: string }
  /** Who signs in from now on; null for somebody who cancels. */
  account: Account | null
  /** Replaces an answer; returns false to let the provider answer. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Lets the provider know where its client is. */
  serve(redirectUri: string): void
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = (_, response) => response.end()
  const server = createServer((request, response) => {
    if (!idp.intercept(request, response)) handle(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const configuration = { issuer, clientId: 'berth', clientSecret: 'a secret of the client, long enough' }
  const idp: IdentityProvider = {
    issuer,
    configuration,
    account: null,
    intercept: () => false,
    serve: redirectUri => {
      handle = serveProvider(idp, redirectUri)
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return idp
}

function serveProvider(idp: IdentityProvider, redirectUri: string) {
  const { clientId, clientSecret } = idp.configuration
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(idp.issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' } as never] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['a key of the test'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ ...idp.account, sub }) }),
    loadExistingGrant: async ctx => {
      const grant = new ctx.oidc.provider.Grant({ clientId, accountId: ctx.oidc.session?.accountId ?? '' })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  const answer = provider.callback()
  return (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/interaction/')) return answer(request, response)
    const { account } = idp
    const result =
      account === null
        ? { error: 'access_denied', error_description: 'cancelled' }
        : { login: { accountId: account.sub } }
    return provider.interactionFinished(request, response, result)
  }
}
