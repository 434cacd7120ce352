import type { Clock } from '@berth/platform/kit/clock.ts'
import { orAborted } from '@berth/platform/kit/or-aborted.ts'
import { type Octokit, RequestError } from 'octokit'
import { GitHostError } from '../git-host.ts'
import { toHostError, wholeOf } from './github-errors.ts'
import type { InstallationTokens } from './installation-tokens.ts'

export type Parameters = Readonly<Record<string, unknown>>

/** An answer of GitHub with what it says of itself. */
export interface Answer<Body> {
  readonly body: Body
  /** Names this answer to a later conditional request; null: GitHub gave it no name. */
  readonly etag: string | null
  /** The value of `Link`; empty if there is none. */
  readonly link: string
}

/** Calls of GitHub as an installation. Each is bounded in time, ends with the signal, and fails only with a `GitHostError`. */
export class GitHubCalls {
  readonly #api: Octokit
  readonly #tokens: InstallationTokens
  readonly #clock: Clock
  readonly #callMs: number

  constructor(api: Octokit, tokens: InstallationTokens, clock: Clock, callMs: number) {
    this.#api = api
    this.#tokens = tokens
    this.#clock = clock
    this.#callMs = callMs
  }

  /** Makes one call; if the host refuses a token before its time, replaces it once. */
  async call<Body>(account: string, route: string, parameters: Parameters, signal?: AbortSignal): Promise<Body> {
    const { data } = await this.#fresh(account, route, parameters, signal)
    return wholeOf(data as Body)
  }

  /**
   * Reads on the condition that the answer is another one than that of an earlier call.
   * @param etag of the earlier answer; null: without a condition
   * @returns null if it is the same
   */
  async readUnless<Body>(
    account: string,
    route: string,
    parameters: Parameters,
    etag: string | null,
    signal?: AbortSignal,
  ): Promise<Answer<Body> | null> {
    const headers = etag === null ? {} : { 'if-none-match': etag }
    try {
      const { data, headers: found } = await this.#fresh(account, route, { ...parameters, headers }, signal)
      return { body: wholeOf(data as Body), etag: found.etag ?? null, link: found.link ?? '' }
    } catch (error) {
      if (etag !== null && error instanceof GitHostError && isNotModified(error.cause)) return null
      throw error
    }
  }

  /** Returns where a call is redirected to, without going there; null if GitHub answers it itself. */
  async readRedirect(account: string, route: string, signal?: AbortSignal): Promise<string | null> {
    const { headers } = await this.#fresh(account, route, { request: { redirect: 'manual' } }, signal)
    return headers.location ?? null
  }

  /** Ends work after the bound of a call, and with the signal. */
  bounded(signal: AbortSignal | undefined): AbortSignal {
    return AbortSignal.any([AbortSignal.timeout(this.#callMs), ...(signal === undefined ? [] : [signal])])
  }

  /** Waits for work that calls GitHub, and throws what its failure means for the caller. */
  async guard<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw toHostError(error, this.#clock)
    }
  }

  async #fresh(account: string, route: string, parameters: Parameters, signal?: AbortSignal) {
    const attempt = () => this.guard(() => this.#request(account, route, parameters, signal), signal)
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof GitHostError) || error.kind !== 'unauthorized') throw error
      this.#tokens.forget(account)
      return attempt()
    }
  }

  async #request(account: string, route: string, parameters: Parameters, signal?: AbortSignal) {
    const bounded = this.bounded(signal)
    const token = await orAborted(this.#tokens.get({ installation: String(toInstallation(account)) }), bounded)
    return await this.#api.request(route, {
      ...parameters,
      headers: { ...Object(parameters['headers']), authorization: `token ${token.value}` },
      request: { ...Object(parameters['request']), signal: bounded },
    })
  }
}

const isNotModified = (cause: unknown) => cause instanceof RequestError && cause.status === 304

/** @throws GitHostError `not_found` if an account is no installation */
export function toInstallation(account: string): number {
  if (!/^[0-9]{1,15}$/.test(account)) throw new GitHostError('not_found', `${account} is not an installation`)
  return Number(account)
}
