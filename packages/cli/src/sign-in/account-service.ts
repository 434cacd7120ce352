import { hostname } from 'node:os'
import { BerthConnectionError, type Platform } from '@berth/client'
import * as oauth from 'oauth4webapi'
import manifest from '../../package.json' with { type: 'json' }
import type { Tokens } from '../profiles/profile.ts'

/** The account service refused, with an OAuth error such as `invalid_grant`. */
export class AccountRefusal extends Error {
  override readonly name = 'AccountRefusal'
  readonly code: string

  constructor(code: string, description: string | undefined) {
    super(`the account service refused: ${description ?? code} (${code})`)
    this.code = code
  }
}

/** The texts that a device shows while it waits. */
export interface DeviceCode {
  readonly deviceCode: string
  readonly userCode: string
  readonly address: string
  readonly intervalMs: number
  readonly expiresInMs: number
}

const REQUEST_MS = 20_000
/** Difference of clocks at which an ID token still counts as timely. */
const CLOCK_SECONDS = 300
/** The first-party client for programs on people's machines; it has no secret. */
const client: oauth.Client = {
  client_id: 'svc-cloud',
  token_endpoint_auth_method: 'none',
  [oauth.clockTolerance]: CLOCK_SECONDS,
}
const unauthenticated = oauth.None()
/** With `offline_access` the sign-in outlives the browser's session; the service grants it only if it may ask. */
const requested = { scope: 'openid offline_access', prompt: 'consent' } as const

/** Shown on the page that approves a device, and in the list of sign-ins. */
const userAgent = `berth/${manifest.version} (${hostname().replace(/[^\w.-]/g, '')}; ${process.platform})`

/** The OpenID provider of a deployment. Every call throws AccountRefusal or BerthConnectionError. */
export class AccountService {
  readonly #metadata: oauth.AuthorizationServer
  readonly #platform: Platform
  readonly #options: ReturnType<typeof requestOptions>

  private constructor(metadata: oauth.AuthorizationServer, platform: Platform) {
    this.#metadata = metadata
    this.#platform = platform
    this.#options = requestOptions(metadata.issuer, platform)
  }

  /** Reads the metadata of an issuer. */
  static async find(issuer: string, platform: Platform): Promise<AccountService> {
    const url = new URL(issuer)
    const metadata = await judged(issuer, async () =>
      oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, requestOptions(issuer, platform))),
    )
    return new AccountService(metadata, platform)
  }

  get issuer(): string {
    return this.#metadata.issuer
  }

  /** Returns the address that begins a sign-in in a browser. */
  async authorizationUrl(request: {
    readonly redirectUri: string
    readonly state: string
    readonly verifier: string
    readonly organization: string | undefined
  }): Promise<string> {
    const { redirectUri, state, verifier, organization } = request
    const endpoint = this.#metadata.authorization_endpoint
    if (endpoint === undefined) throw new Error(`${this.issuer} names no address at which people sign in`)
    const url = new URL(endpoint)
    const parameters = {
      ...requested,
      client_id: client.client_id,
      response_type: 'code',
      redirect_uri: redirectUri,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(organization !== undefined && { organization }),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  /**
   * Exchanges the code of an authorization response, whose `state` and `iss` it checks first (RFC 9207).
   * @throws AccountRefusal with `access_denied` if the person declined
   */
  async exchange(
    response: URLSearchParams,
    sent: { readonly state: string; readonly verifier: string; readonly redirectUri: string },
  ): Promise<Tokens> {
    const { state, verifier, redirectUri } = sent
    const metadata = { ...this.#metadata, authorization_response_iss_parameter_supported: true }
    return this.#tokens(async () => {
      const checked = oauth.validateAuthResponse(metadata, client, response, state)
      const answer = await oauth.authorizationCodeGrantRequest(
        ...([metadata, client, unauthenticated, checked, redirectUri, verifier, this.#options] as const),
      )
      return oauth.processAuthorizationCodeResponse(metadata, client, answer)
    })
  }

  /** Begins the sign-in of a device. */
  async beginDevice(organization: string | undefined): Promise<DeviceCode> {
    const parameters = { scope: requested.scope, ...(organization !== undefined && { organization }) }
    const begun = await judged(this.issuer, async () => {
      const options = this.#options
      const answer = await oauth.deviceAuthorizationRequest(
        this.#metadata,
        client,
        unauthenticated,
        parameters,
        options,
      )
      return oauth.processDeviceAuthorizationResponse(this.#metadata, client, answer)
    })
    return {
      deviceCode: begun.device_code,
      userCode: begun.user_code,
      address: begun.verification_uri,
      // RFC 8628, section 3.2: 5 s if the service names no interval.
      intervalMs: (begun.interval ?? 5) * 1000,
      expiresInMs: begun.expires_in * 1000,
    }
  }

  /** Asks for the tokens of a device. @throws AccountRefusal with `authorization_pending` or `slow_down` before the end */
  pollDevice(deviceCode: string): Promise<Tokens> {
    return this.#tokens(async () => {
      const answer = await oauth.deviceCodeGrantRequest(
        ...([this.#metadata, client, unauthenticated, deviceCode, this.#options] as const),
      )
      return oauth.processDeviceCodeResponse(this.#metadata, client, answer)
    })
  }

  /** Uses a refresh token, which is then worth nothing. @throws AccountRefusal with `invalid_grant` if the sign-in ended */
  refresh(refreshToken: string): Promise<Tokens> {
    return this.#tokens(async () => {
      const answer = await oauth.refreshTokenGrantRequest(
        ...([this.#metadata, client, unauthenticated, refreshToken, this.#options] as const),
      )
      return oauth.processRefreshTokenResponse(this.#metadata, client, answer)
    })
  }

  /** Ends a sign-in. */
  async revoke(refreshToken: string): Promise<void> {
    await judged(this.issuer, async () => {
      const parameters = { additionalParameters: { token_type_hint: 'refresh_token' }, ...this.#options }
      const answer = await oauth.revocationRequest(this.#metadata, client, unauthenticated, refreshToken, parameters)
      await oauth.processRevocationResponse(answer)
    })
  }

  async #tokens(request: () => Promise<oauth.TokenEndpointResponse>): Promise<Tokens> {
    const requestedAtMs = this.#platform.now()
    const { access_token: access, refresh_token: refresh, expires_in: seconds } = await judged(this.issuer, request)
    if (refresh === undefined || seconds === undefined) throw new Error('the account service gave no lasting sign-in')
    return { access, refresh, expiresAt: requestedAtMs + seconds * 1000 }
  }
}

function requestOptions(issuer: string, platform: Platform) {
  return {
    headers: new Headers({ 'user-agent': userAgent }),
    // Whoever names an http issuer has chosen so; `issuerOf` takes none from a service that is reached by https.
    [oauth.allowInsecureRequests]: new URL(issuer).protocol === 'http:',
    [oauth.customFetch]: async (url: string, init: oauth.CustomFetchOptions<string, unknown>): Promise<Response> => {
      try {
        return await platform.fetch(url, { ...(init as RequestInit), signal: AbortSignal.timeout(REQUEST_MS) })
      } catch (cause) {
        throw new BerthConnectionError(issuer, 'the connection failed', { cause })
      }
    },
  }
}

/** Runs a request and names its failure. The library's errors carry requests and answers, so none is passed on whole. */
async function judged<T>(issuer: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (failure) {
    if (failure instanceof BerthConnectionError) throw failure
    if (failure instanceof oauth.ResponseBodyError) throw new AccountRefusal(failure.error, failure.error_description)
    if (failure instanceof oauth.AuthorizationResponseError) {
      throw new AccountRefusal(failure.error, failure.error_description)
    }
    const reason = failure instanceof Error ? failure.message : String(failure)
    throw new Error(`${issuer} did not answer as an account service does: ${reason}`)
  }
}
