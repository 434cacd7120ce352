import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { Log } from '@berth/platform/kit/log.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FarIdentity } from '@berth/platform/settings/identity.ts'
import { Pool } from 'undici'

const CONNECTIONS = 64
/** An answer is some kilobytes; a page of changes, some hundred. */
const MOST_ANSWER_BYTES = 4 * 1024 ** 2

/** Asks an account service that has another database, over connections that are kept. It never asks twice. */
export class AccountClient implements AsyncDisposable {
  readonly #pool: Pool
  readonly #prefix: string
  readonly #authorization: string
  readonly #timeoutMs: number
  readonly #log: Log
  #away = false

  constructor({ url, secret, timeoutMs }: FarIdentity, log: Log) {
    const { origin, pathname } = new URL(url)
    this.#pool = new Pool(origin, { connections: CONNECTIONS, maxResponseSize: MOST_ANSWER_BYTES })
    this.#prefix = pathname.replace(/\/$/, '')
    this.#authorization = `Bearer ${secret}`
    this.#timeoutMs = timeoutMs
    this.#log = log
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy()
  }

  /**
   * Sends a request and returns its answer.
   * @param body absent: a GET
   * @param is whether an answer is one
   * @throws ApiError 503 `identity_service_unavailable` if none came in time, or another than 200, or one that is none
   */
  async ask<Answer>(path: string, is: { Check(value: unknown): value is Answer }, body?: object): Promise<Answer> {
    try {
      const answer = await this.#send(path, body)
      if (!is.Check(answer)) throw new Error('its answer is not one of this protocol')
      if (this.#away) this.#log.info({}, 'the account service answers again')
      this.#away = false
      return answer
    } catch (cause) {
      if (!this.#away)
        this.#log.warn({ err: cause }, 'the account service does not answer; requests are refused with 503')
      this.#away = true
      const { status, code, headers } = refusal('identity_service_unavailable')
      throw new ApiError(status, code, { headers, cause })
    }
  }

  /**
   * Passes a request of a person on, and returns the answer whatever its status.
   * @param request `clientAddress` is whose request it was; the account service believes it from a trusted proxy
   * @throws ApiError 503 `identity_service_unavailable` if none came in time
   */
  async pass(request: {
    readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
    readonly path: string
    readonly bearer: string
    readonly body: unknown
    readonly clientAddress: string
    readonly timeoutMs: number
  }): Promise<{ readonly status: number; readonly text: string; readonly retryAfter: string | null }> {
    const { method, path, bearer, body, clientAddress, timeoutMs } = request
    try {
      const answer = await this.#pool.request({
        path: this.#prefix + path,
        method,
        headers: {
          authorization: `Bearer ${bearer}`,
          'x-forwarded-for': clientAddress,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      })
      const retryAfter = answer.headers['retry-after']
      return {
        status: answer.statusCode,
        text: await answer.body.text(),
        retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
      }
    } catch (cause) {
      const { status, code, headers } = refusal('identity_service_unavailable')
      throw new ApiError(status, code, { headers, cause })
    }
  }

  async #send(path: string, body: object | undefined): Promise<unknown> {
    const { statusCode, body: answer } = await this.#pool.request({
      path: this.#prefix + path,
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: this.#authorization, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(this.#timeoutMs),
    })
    if (statusCode === 200) return await answer.json()
    await answer.dump()
    const hint = statusCode === 404 ? '; BERTH_IDENTITY_SECRET must be the same on both sides' : ''
    throw new Error(`it answered ${statusCode}${hint}`)
  }
}
