import type { Readable } from 'node:stream'
import { asObject, isObject } from '@berth/platform/kit/json.ts'
import { type Dispatcher, Pool } from 'undici'
import { ClusterError } from './cluster-error.ts'

export interface ClusterApiOptions {
  readonly url: string
  /** Authorities of the API server's certificate, in PEM; absent: those of this machine. */
  readonly ca?: string | undefined
  /** Returns the token of this process. It is asked for each request, because kubelet replaces the file. */
  readonly token: () => string
  /** Longest time to an answer. */
  readonly timeoutMs?: number
}

/** Sends one request of a kind that this service makes. */
export interface ClusterRequest {
  /** `PATCH` merges the body into the object (RFC 7396). */
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

const TIMEOUT_MS = 15_000
const CONNECTIONS = 16
/** A page of 500 pods has some five megabytes. */
const MAX_ANSWER_BYTES = 64 * 1024 ** 2
/** The longest pause that an API server may ask for. */
const MAX_RETRY_AFTER_MS = 60_000

/**
 * Speaks with the API server of a cluster: the kinds of request that this service needs, each with a deadline and a
 * bound on its answer ([decision 25](../../../../../docs/decisions/0025-pods-are-hosts-with-one-lease.md)).
 */
export class ClusterApi implements AsyncDisposable {
  readonly #pool: Pool
  /** Apart, since the bound on an answer is a connection's, and a stream has none. */
  readonly #streams: Pool
  readonly #prefix: string
  readonly #token: () => string
  readonly #timeoutMs: number

  constructor({ url, ca, token, timeoutMs = TIMEOUT_MS }: ClusterApiOptions) {
    const { origin, pathname } = new URL(url)
    const common = { connections: CONNECTIONS, ...(ca !== undefined && { connect: { ca } }) }
    this.#pool = new Pool(origin, { ...common, maxResponseSize: MAX_ANSWER_BYTES })
    this.#streams = new Pool(origin, { ...common, bodyTimeout: 0 })
    this.#prefix = pathname.replace(/\/$/, '')
    this.#token = token
    this.#timeoutMs = timeoutMs
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#streams.destroy()])
  }

  /**
   * Returns the object that the API server answers.
   * @throws ClusterError; the signal's reason
   */
  async ask(request: ClusterRequest, signal?: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const inTime = AbortSignal.timeout(this.#timeoutMs)
    const until = signal === undefined ? inTime : AbortSignal.any([inTime, signal])
    try {
      const { statusCode, headers, body } = await this.#send(this.#pool, request, until)
      const text = await body.text()
      if (statusCode < 200 || statusCode > 299) throw refused(request, statusCode, headers, text)
      const answer: unknown = JSON.parse(text)
      if (!isObject(answer)) throw new ClusterError(`${nameOf(request)}: the answer is no object`)
      return answer
    } catch (error) {
      throw this.#toClusterError(error, request, signal)
    }
  }

  /**
   * Opens an answer that goes on until either side ends it. Its begin has a deadline; whoever reads it sets one for the rest.
   * @throws ClusterError; the signal's reason
   */
  async stream(request: ClusterRequest, signal: AbortSignal): Promise<Readable> {
    const began = new AbortController()
    const late = setTimeout(() => began.abort(new Error('no answer in time')), this.#timeoutMs)
    try {
      const { statusCode, headers, body } = await this.#send(
        this.#streams,
        request,
        AbortSignal.any([began.signal, signal]),
      )
      if (statusCode !== 200) throw refused(request, statusCode, headers, await body.text())
      return body
    } catch (error) {
      throw this.#toClusterError(error, request, signal)
    } finally {
      clearTimeout(late)
    }
  }

  #send(pool: Pool, { method, path, query, body }: ClusterRequest, signal: AbortSignal) {
    return pool.request({
      method,
      path: this.#prefix + path,
      ...(query !== undefined && { query }),
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${this.#token()}`,
        ...(body !== undefined && {
          'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    })
  }

  #toClusterError(error: unknown, request: ClusterRequest, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return signal.reason
    if (error instanceof ClusterError) return error
    return new ClusterError(`${nameOf(request)}: the API server did not answer`, { cause: error })
  }
}

const nameOf = ({ method, path }: ClusterRequest): string => `${method} ${path}`

function refused(
  request: ClusterRequest,
  status: number,
  headers: Dispatcher.ResponseData['headers'],
  text: string,
): ClusterError {
  const answer = statusOf(text)
  const message = answer.message ?? 'no reason given'
  return new ClusterError(`${nameOf(request)}: ${status} ${message}`.slice(0, 1000), {
    status,
    reason: answer.reason,
    retryAfterMs: retryAfter(headers['retry-after']),
  })
}

/** Reads the object `Status`, which API servers answer refusals with; proxies in front of them do not. */
function statusOf(text: string): { readonly reason: string | null; readonly message: string | null } {
  try {
    const value: unknown = JSON.parse(text)
    const { reason, message } = asObject(value)
    return {
      reason: typeof reason === 'string' ? reason : null,
      message: typeof message === 'string' ? message : null,
    }
  } catch {
    return { reason: null, message: null }
  }
}

function retryAfter(header: string | readonly string[] | undefined): number | null {
  const seconds = typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : null
  return seconds === null ? null : Math.min(seconds * 1000, MAX_RETRY_AFTER_MS)
}
