import { accessCapability } from '@berth/contract'
import { TOKEN_EXCHANGE } from '@berth/core/accounts/sign-in/clients.ts'
import { cloudClient, issuerOf } from '@berth/core/identity/tokens/token-types.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import { decodeJwt } from 'jose'
import type { Configuration } from 'openid-client'
import type { ClientProof } from './client-proof.ts'

/** How long the metadata of the account service is trusted. */
const METADATA_MS = 60 * 60_000
const CLOCK_TOLERANCE_SECONDS = 30

/** The values that a sign-in begins with, and must return. */
export interface Challenge {
  readonly state: string
  readonly nonce: string
  /** The verifier of PKCE. */
  readonly verifier: string
}

/** Who has signed in. */
export interface SignedIn {
  readonly personId: string
  readonly signInId: string
  /** When they proved who they are. */
  readonly provenAt: Date
  readonly tokens: ClientTokens
}

/** Tokens of the client for a person. They open nothing by themselves. */
export interface ClientTokens {
  readonly accessToken: string
  /** It can be used once. */
  readonly refreshToken: string
}

/** An access token with which the console acts as a person. */
export interface Delegation {
  readonly token: string
  readonly seconds: number
}

/** Dependencies of the client. */
export interface ConsoleClientContext {
  readonly clock: Clock
  readonly proof: ClientProof
  /** Known once the service listens. */
  readonly authUrl: () => string
  /** Known once the service listens. */
  readonly consoleUrl: () => string
  /** Time for each request to the account service. */
  readonly timeoutMs: number
}

/**
 * The console as a client of the account service: confidential, with PKCE. It learns who has signed in. Where the account
 * service has the same database, rows decide on the browser's requests from then on, and nobody keeps a token.
 */
export class ConsoleClient {
  readonly #context: ConsoleClientContext
  #known: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined

  constructor(context: ConsoleClientContext) {
    this.#context = context
  }

  /**
   * Returns where the browser goes to sign in.
   * @param request the organization to act in, if one is chosen already; `again`: ask for the credentials in any case
   * @throws if the account service does not answer
   */
  async authorizationUrl(
    { state, nonce, verifier }: Challenge,
    request: { readonly organization?: string; readonly again?: boolean },
  ): Promise<string> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
    const parameters = {
      redirect_uri: this.#redirectUri,
      scope: 'openid svc.cloud.access',
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(request.organization !== undefined && { organization: request.organization }),
      ...(request.again === true && { prompt: 'login' }),
    }
    return buildAuthorizationUrl(await this.#configuration(), parameters).href
  }

  /** Returns where the browser goes to end the sign-in of the browser itself. */
  async signOutUrl(): Promise<string> {
    const { buildEndSessionUrl } = await import('openid-client')
    const back = `${this.#base}/signed-out`
    return buildEndSessionUrl(await this.#configuration(), { post_logout_redirect_uri: back }).href
  }

  /**
   * Judges the answer that the browser came back with, and redeems its code.
   * @param query of the address that the browser came back to
   * @throws if the answer is not to this challenge, if the account service refused, or if it does not answer
   */
  async redeem(query: string, { state, nonce, verifier }: Challenge): Promise<SignedIn> {
    const { authorizationCodeGrant } = await import('openid-client')
    const tokens = await authorizationCodeGrant(await this.#configuration(), new URL(`${this.#redirectUri}?${query}`), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    // It came straight from the token endpoint and is not trusted with more than the id of its sign-in.
    const { sid } = decodeJwt(tokens.access_token)
    if (claims?.auth_time === undefined || typeof sid !== 'string' || !isUuid(sid) || !isUuid(claims.sub)) {
      throw new Error('the account service did not say who signed in, or when')
    }
    return {
      personId: claims.sub,
      signInId: sid,
      provenAt: new Date(claims.auth_time * 1000),
      tokens: clientTokens(tokens),
    }
  }

  /**
   * Uses a refresh token.
   * @throws an error with the code of OAuth in `error` if it is refused; any other if the account service does not answer
   */
  async renew(refreshToken: string): Promise<ClientTokens> {
    const { refreshTokenGrant } = await import('openid-client')
    return clientTokens(await refreshTokenGrant(await this.#configuration(), refreshToken))
  }

  /** Exchanges an access token of this client for a delegation (RFC 8693). @throws like `renew` */
  async delegate(accessToken: string): Promise<Delegation> {
    const { genericGrantRequest } = await import('openid-client')
    const answer = await genericGrantRequest(await this.#configuration(), TOKEN_EXCHANGE, {
      subject_token: accessToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: cloudClient,
      scope: accessCapability,
    })
    return { token: answer.access_token, seconds: answer.expires_in ?? 0 }
  }

  /** Ends the sign-in of a refresh token. @throws if the account service does not answer */
  async revoke(refreshToken: string): Promise<void> {
    const { tokenRevocation } = await import('openid-client')
    await tokenRevocation(await this.#configuration(), refreshToken)
  }

  get #base(): string {
    return this.#context.consoleUrl().replace(/\/$/, '')
  }

  get #redirectUri(): string {
    return `${this.#base}/cloud/auth/callback`
  }

  #configuration(): Promise<Configuration> {
    const now = this.#context.clock.now().getTime()
    if (this.#known !== undefined && now < this.#known.until) return this.#known.configuration
    const configuration = this.#discover().catch(error => {
      this.#known = undefined
      throw error
    })
    this.#known = { configuration, until: now + METADATA_MS }
    return configuration
  }

  async #discover(): Promise<Configuration> {
    const openid = await import('openid-client')
    const issuer = new URL(issuerOf(this.#context.authUrl()))
    const { id, authenticate } = await this.#context.proof(openid)
    const client = { [openid.clockTolerance]: CLOCK_TOLERANCE_SECONDS, require_auth_time: true }
    return openid.discovery(issuer, id, client, authenticate, {
      timeout: this.#context.timeoutMs / 1000,
      execute: [
        openid.enableNonRepudiationChecks,
        ...(issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : []),
      ],
    })
  }
}

function clientTokens(answer: {
  readonly access_token: string
  readonly refresh_token?: string | undefined
}): ClientTokens {
  if (answer.refresh_token === undefined) throw new Error('the account service gave no refresh token')
  return { accessToken: answer.access_token, refreshToken: answer.refresh_token }
}
