import { hash } from 'node:crypto'
import { capabilities } from '@berth/contract'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { FirstPartyClientConfig } from '@berth/platform/settings/first-party-clients.ts'
import type { IdentityProviderConfig } from '@berth/platform/settings/identity-providers.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type {
  Adapter,
  ClientMetadata,
  Configuration,
  Interaction,
  interactionPolicy,
  JWK,
  RefreshToken,
  Session,
} from 'oidc-provider'
import { issuerOf } from '../../identity/tokens/token-types.ts'
import type { SigningKeys } from '../signing/signing-keys.ts'
import { CLOUD_RESOURCE } from './clients.ts'
import {
  showDeviceConnected,
  showError,
  showSignedOut,
  showSignOut,
  showUserCodeConfirmation,
  showUserCodeInput,
} from './provider-pages.ts'
import { bindToSession } from './session-binding.ts'
import { readEnabledPerson, readLiveSignIn, touchSignIn } from './sign-in-sql.ts'

const MINUTE = 60
const DAY = 86_400
export const ACCESS_TOKEN_SECONDS = 600
/** How long a person may take over the pages of a sign-in. */
const INTERACTION_SECONDS = 30 * MINUTE
const REFRESH_IDLE_SECONDS = 14 * DAY
const SIGN_IN_SECONDS = 90 * DAY

/** What the OpenID provider works with. */
export interface SignInContext {
  readonly db: Database
  readonly clock: Clock
  readonly masterKey: MasterKey
  readonly keys: SigningKeys
  /** Known once the service listens. */
  readonly authUrl: () => string
  /** Known once the service listens. */
  readonly consoleUrl: () => string
  readonly firstPartyClients: readonly FirstPartyClientConfig[]
  readonly identityProviders: readonly IdentityProviderConfig[]
  /** Time for each request to an external identity provider. */
  readonly providerTimeoutMs: number
}

/** Where a person answers one question of a sign-in. */
export const interactionPath = (id: string): string => `/interaction/${id}`

/** Everything in which this provider differs from the defaults of `oidc-provider`. */
export function providerConfiguration(
  context: SignInContext,
  adapter: (kind: string) => Adapter,
  policy: interactionPolicy.DefaultPolicy,
  clients: ClientMetadata[],
): Configuration {
  const { db, clock, keys } = context
  const authUrl = context.authUrl()
  const prefix = new URL(authUrl).pathname.replace(/\/$/, '')
  return {
    adapter,
    clients,
    jwks: { keys: privateKeys(keys) },
    cookies: cookies(context),
    interactions: { policy, url: (_ctx, { uid }) => `${prefix}${interactionPath(uid)}` },
    // Guards and refreshes judge the same rows: whoever has left gets no new token, whatever they still hold.
    findAccount: async (ctx, accountId, token) => {
      const grantId = token !== undefined && 'grantId' in token ? token.grantId : undefined
      const began = ctx.oidc.session?.loginTs ?? 0
      const may =
        typeof grantId === 'string' ? await readLiveSignIn(db, grantId) : await readEnabledPerson(db, accountId, began)
      return may === null ? undefined : { accountId, claims: () => ({ sub: accountId }) }
    },
    // Each authorization is a sign-in of its own, so a grant is taken over only from its own consent.
    loadExistingGrant: async ctx => {
      const granted = ctx.oidc.result?.consent?.grantId
      return granted === undefined ? undefined : ctx.oidc.provider.Grant.find(granted)
    },
    extraTokenClaims: async (_ctx, token) => {
      if (!('grantId' in token) || typeof token.grantId !== 'string') return undefined
      const signIn = await readLiveSignIn(db, token.grantId)
      if (signIn === null) throw new Error('a token was made for a sign-in that has ended')
      await touchSignIn(db, token.grantId, clock.now())
      return { sid: token.grantId, membership: signIn.membership_id, organization: signIn.organization_id }
    },
    extraParams: ['organization'],
    formats: { customizers: { jwt: (_ctx, _token, { payload }) => dateBy(clock, payload) } },
    scopes: ['openid', 'offline_access'],
    responseTypes: ['code'],
    pkce: { required: () => true },
    clientBasedCORS: () => false,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async (ctx, token) => {
      const { scopes } = token
      if (scopes.has('offline_access')) return false
      await bindToSession(context, ctx, token)
      return true
    },
    rotateRefreshToken: true,
    renderError: showError,
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      revocation: { enabled: true, allowedPolicy: mayRevoke },
      rpInitiatedLogout: { enabled: true, logoutSource: showSignOut, postLogoutSuccessSource: showSignedOut },
      deviceFlow: {
        enabled: true,
        charset: 'base-20',
        mask: '****-****',
        userCodeInputSource: showUserCodeInput,
        userCodeConfirmSource: showUserCodeConfirmation,
        successSource: showDeviceConnected,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => CLOUD_RESOURCE,
        useGrantedResource: async () => true,
        // `svc-cloud` is the audience of the API as well, so the token of another client does not open it.
        getResourceServerInfo: async (_ctx, _resource, { clientId }) => ({
          scope: capabilities.join(' '),
          audience: clientId,
          accessTokenTTL: ACCESS_TOKEN_SECONDS,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    ttl: {
      AccessToken: ACCESS_TOKEN_SECONDS,
      AuthorizationCode: MINUTE,
      DeviceCode: 10 * MINUTE,
      IdToken: ACCESS_TOKEN_SECONDS,
      Interaction: (_ctx: unknown, _interaction: Interaction) => INTERACTION_SECONDS,
      // A page begins one before anybody has signed in, to bind its form to the browser.
      Session: (_ctx: unknown, { accountId }: Session) =>
        accountId === undefined ? INTERACTION_SECONDS : REFRESH_IDLE_SECONDS,
      Grant: SIGN_IN_SECONDS,
      // Past the bound the grant has expired as well, so one second is as good as none.
      RefreshToken: (_ctx: unknown, token: RefreshToken) =>
        Math.max(1, Math.min(REFRESH_IDLE_SECONDS, SIGN_IN_SECONDS - token.totalLifetime())),
    },
  }
}

/** The provider dates tokens by this machine's clock, and their verifiers compare with the service's. */
function dateBy(clock: Clock, payload: { iat?: number | undefined; exp?: number | undefined }): void {
  const behind = Math.round((clock.now().getTime() - Date.now()) / 1000)
  if (payload.iat !== undefined) payload.iat += behind
  if (payload.exp !== undefined) payload.exp += behind
}

/** The key that signs now goes first: the provider signs with the first that fits. */
function privateKeys(keys: SigningKeys): JWK[] {
  return keys.published.map(
    ({ kid, privateKey }) => ({ ...privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }) as JWK,
  )
}

/**
 * The part of a cookie's name that tells deployments apart. Cookies ignore ports: two deployments on one host would
 * otherwise sign one another's people out.
 */
export const issuerMark = (authUrl: string): string => hash('sha256', issuerOf(authUrl), 'hex').slice(0, 12)

/** Returns the cookie that all pages see, and nothing else on their host. A browser binds only cookies of `/` to a host. */
export function commonCookie(authUrl: string, kind: 'session' | 'external' | 'known') {
  const { protocol, pathname: path } = new URL(authUrl)
  const secure = protocol === 'https:'
  const binding = path === '/' ? '__Host-' : '__Secure-'
  return { name: `${secure ? binding : ''}berth_${kind}_${issuerMark(authUrl)}`, path, secure }
}

/** Returns name and attributes of the cookie that holds a browser's session. */
export function sessionCookie({ authUrl }: Pick<SignInContext, 'authUrl'>) {
  const { name, path, secure } = commonCookie(authUrl(), 'session')
  return { name, options: { httpOnly: true, sameSite: 'lax', secure, signed: true, path } as const }
}

function cookies(context: SignInContext): NonNullable<Configuration['cookies']> {
  const authUrl = context.authUrl()
  const own = issuerMark(authUrl)
  const { name, options } = sessionCookie(context)
  const { path: _, ...short } = options
  const { secure } = options
  return {
    names: {
      session: name,
      interaction: `${secure ? '__Secure-' : ''}berth_interaction_${own}`,
      resume: `${secure ? '__Secure-' : ''}berth_resume_${own}`,
    },
    keys: [context.masterKey.digest(`cookies/${issuerOf(authUrl)}`).toString('base64url')],
    long: options,
    short,
  }
}

/** A client revokes its own tokens; those of others look unknown to it, and stay. */
const mayRevoke = (
  _: unknown,
  client: { readonly clientId: string },
  token: { readonly clientId?: string | undefined },
) => Promise.resolve(token.clientId === client.clientId)
