import type { Clock } from '@berth/platform/kit/clock.ts'
import type { IdentityProviderConfig } from '@berth/platform/settings/identity-providers.ts'
import type { ClientAuth, Configuration, CustomFetchOptions } from 'openid-client'

/** How long a provider's metadata is trusted. */
const METADATA_MS = 60 * 60_000
const CLOCK_TOLERANCE_SECONDS = 30
/** Most that one answer of a provider may hold; metadata, keys and tokens take a few KiB. */
const MOST_BYTES = 256 * 1024
/** OpenID Connect Core 1.0, section 2: at most 255 characters of ASCII. */
const subjectPattern = /^[\x20-\x7e]{1,255}$/

/** Who somebody is in the words of a provider. Issuer and subject alone name them; the rest may change. */
export interface ExternalIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
  readonly name: string | null
}

/** The secrets of one sign-in at a provider. */
export interface ExternalChallenge {
  readonly state: string
  readonly nonce: string
  /** The verifier of PKCE. */
  readonly verifier: string
}

/** One provider, as its client. Every request to it ends within a bounded time, and every answer is of a bounded size. */
export class ExternalProvider {
  readonly config: IdentityProviderConfig
  readonly #clock: Clock
  readonly #timeoutMs: number
  #known: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined

  constructor(config: IdentityProviderConfig, clock: Clock, timeoutMs: number) {
    this.config = config
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** Returns where the browser goes. @throws if the provider's metadata cannot be read */
  async authorizationUrl(redirectUri: string, { state, nonce, verifier }: ExternalChallenge): Promise<string> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
    const parameters = {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }
    return buildAuthorizationUrl(await this.#configuration(), parameters).href
  }

  /**
   * Judges the provider's answer: its issuer, state and nonce, and the signature of its ID token.
   *
   * @param answer the whole address that the browser came back to
   * @throws if the answer is not this provider's to this challenge, if the provider refused, or if it is away
   */
  async identify(answer: URL, { state, nonce, verifier }: ExternalChallenge): Promise<ExternalIdentity> {
    const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client')
    const configuration = await this.#configuration()
    const tokens = await authorizationCodeGrant(configuration, answer, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined) throw new Error('the provider sent no ID token')
    const { sub, iss } = claims
    if (!subjectPattern.test(sub)) throw new Error('the provider sent a subject that OpenID Connect does not allow')
    const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined
    const about =
      claims['email'] === undefined && hasUserInfo
        ? await fetchUserInfo(configuration, tokens.access_token, sub)
        : claims
    const { email, email_verified: emailVerified, name } = about
    return {
      issuer: iss,
      subject: sub,
      // What is longer is of no use, and would not fit into the cookie.
      email: textWithin(254, email),
      emailVerified: emailVerified === true,
      name: textWithin(100, name),
    }
  }

  #configuration(): Promise<Configuration> {
    const now = this.#clock.now().getTime()
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
    const { issuer, clientId, clientSecret } = this.config
    const [post, basic] = [openid.ClientSecretPost(clientSecret), openid.ClientSecretBasic(clientSecret)]
    const authenticate: ClientAuth = (server, client, body, headers) => {
      const takesPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') ?? false
      return (takesPost ? post : basic)(server, client, body, headers)
    }
    const url = new URL(issuer)
    return openid.discovery(url, clientId, { [openid.clockTolerance]: CLOCK_TOLERANCE_SECONDS }, authenticate, {
      timeout: this.#timeoutMs / 1000,
      [openid.customFetch]: fetchBounded,
      execute: [
        openid.enableNonRepudiationChecks,
        // The settings let only an issuer on loopback go without TLS.
        ...(url.protocol === 'http:' ? [openid.allowInsecureRequests] : []),
      ],
    })
  }
}

const textWithin = (most: number, value: unknown): string | null =>
  typeof value === 'string' && value.length <= most ? value : null

/** Fetches an answer whole. @throws if it is larger than any that a provider has to give */
async function fetchBounded(url: string, options: CustomFetchOptions): Promise<Response> {
  const answer = await fetch(url, options as RequestInit)
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw new Error('the provider sent an answer that is too large')
    chunks.push(chunk)
  }
  return new Response(answer.body === null ? null : new Blob(chunks), answer)
}
