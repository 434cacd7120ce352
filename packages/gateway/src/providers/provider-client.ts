import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Wire } from '@berth/core/accounting/upstream.ts'
import { upstreamError } from '@berth/core/accounting/upstream-status.ts'
import { type UpstreamCode, UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { type Dispatcher, Pool } from 'undici'
import { UpstreamAnswer } from './upstream-answer.ts'

/** A provider as configured. */
export interface Provider {
  readonly id: string
  readonly kind: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  readonly wire: readonly Wire[]
}

/** A provider's time limits, and its number of connections. */
export interface ProviderLimits {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
  readonly connections: number
}

const defaultBaseUrls: Readonly<Record<Provider['kind'], string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-compatible': 'http://127.0.0.1:11434/v1',
}

/**
 * Bodies of at least this length are built, encoded and written in separate turns of the event loop. Other requests
 * then wait for the longest of the three, not for their sum.
 */
const largeCharacters = 1024 ** 2

/** The connections to one provider. It follows no redirect: that would carry the key to another host. */
export class ProviderClient {
  readonly provider: Provider
  readonly #pool: Pool
  readonly #origin: string
  readonly #path: string
  readonly #headers: Readonly<Record<string, string>>
  #models: Promise<(model: string) => LanguageModelV4> | null = null

  constructor(provider: Provider, limits: ProviderLimits) {
    this.provider = provider
    const url = new URL(provider.baseUrl ?? defaultBaseUrls[provider.kind])
    this.#origin = url.origin
    this.#path = url.pathname.replace(/\/$/, '')
    this.#headers = { ...credentialHeaders(provider), 'content-type': 'application/json' }
    this.#pool = new Pool(url.origin, {
      connections: limits.connections,
      connect: { timeout: limits.connectMs },
      headersTimeout: limits.firstByteMs,
      bodyTimeout: limits.idleMs,
    })
  }

  /**
   * Sends a request to the provider.
   * @throws UpstreamError if no answer came, or the signal's reason if that is an Error
   */
  async send(request: {
    readonly method: 'GET' | 'POST'
    readonly path: string
    /** Added to the provider's own headers; the credential is not among them. */
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: Buffer
    readonly signal: AbortSignal
  }): Promise<UpstreamAnswer> {
    const { method, path, body = null, signal } = request
    const headers = request.headers === undefined ? this.#headers : { ...this.#headers, ...request.headers }
    return this.#ask({ method, path: this.#path + path, headers, body }, signal)
  }

  /** Returns the provider's model for the `ai` library. The first caller loads the library. */
  async languageModel(model: string): Promise<LanguageModelV4> {
    this.#models ??= this.#loadModels()
    return (await this.#models)(model)
  }

  async #loadModels(): Promise<(model: string) => LanguageModelV4> {
    const { kind, id: name, apiKey = '', wire } = this.provider
    const options = { baseURL: this.#origin + this.#path, apiKey, fetch: this.#fetch }
    if (kind === 'anthropic') return (await import('@ai-sdk/anthropic')).createAnthropic(options)
    if (kind === 'google') return (await import('@ai-sdk/google')).createGoogleGenerativeAI(options)
    if (kind === 'openai' || wire.includes('responses')) {
      const { responses, chat } = (await import('@ai-sdk/openai')).createOpenAI(options)
      return wire.includes('responses') ? responses : chat
    }
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    // Without this the package drops the schema of an answer. As over Chat Completions, the endpoint judges it.
    const settings = { name, includeUsage: true, supportsStructuredOutputs: true }
    return createOpenAICompatible({ ...options, ...settings }).chatModel
  }

  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  async #ask(request: Dispatcher.DispatchOptions, signal: AbortSignal): Promise<UpstreamAnswer> {
    try {
      return await UpstreamAnswer.ask(this.#pool, request, signal)
    } catch (error) {
      throw connectionError(error, signal, 'upstream_unreachable')
    }
  }

  /**
   * The subset of `fetch` that the `ai` library's packages use: they post a string and read status, headers and a body
   * stream. A full `fetch` took longer than the rest of a translation.
   */
  readonly #fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const url = String(input)
    if (!url.startsWith(`${this.#origin}/`)) throw new Error(`a request to ${this.provider.id} left its base URL`)
    const { body, signal, headers } = init
    if (typeof body !== 'string') throw new Error('the body of a request is not a string')
    const isLarge = body.length > largeCharacters
    if (isLarge) await nextTurn()
    const request = {
      method: 'POST',
      path: url.slice(this.#origin.length),
      headers: { ...Object(headers) },
      body: isLarge ? Buffer.from(body) : body,
    } as const
    if (isLarge) await nextTurn()
    const answer = await this.#ask(request, signal ?? new AbortController().signal)
    const { status } = answer
    const received = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const)
    const least = {
      ok: status >= 200 && status < 300,
      status,
      statusText: '',
      headers: new Map(received),
      body: bodyOf(answer),
    }
    return least as unknown as Response
  }
}

/**
 * The subset of a web stream that those packages use. A caller that reads the whole answer reads it straight from the
 * connection; only a caller that pipes it gets a stream.
 */
function bodyOf(answer: UpstreamAnswer) {
  return {
    getReader: () => ({
      async read() {
        const value = await answer.read()
        return value === null ? { done: true } : { done: false, value }
      },
      cancel: async () => answer.close(),
      releaseLock() {},
    }),
    pipeThrough: (through: TransformStream<Uint8Array>) => streamOf(answer).pipeThrough(through),
    cancel: async () => answer.close(),
  }
}

function streamOf(answer: UpstreamAnswer): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const chunk = await answer.read()
        if (chunk === null) controller.close()
        else controller.enqueue(chunk)
      },
      cancel: () => answer.close(),
    },
    { highWaterMark: 0 },
  )
}

function credentialHeaders({ kind, apiKey }: Provider): Readonly<Record<string, string>> {
  if (kind === 'anthropic') return { 'anthropic-version': '2023-06-01', ...(apiKey && { 'x-api-key': apiKey }) }
  if (apiKey === undefined) return {}
  return kind === 'google' ? { 'x-goog-api-key': apiKey } : { authorization: `Bearer ${apiKey}` }
}

const codes: Readonly<Record<string, UpstreamCode>> = {
  UND_ERR_HEADERS_TIMEOUT: 'upstream_timeout',
  UND_ERR_BODY_TIMEOUT: 'upstream_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'upstream_unreachable',
  UND_ERR_SOCKET: 'upstream_cut',
  UND_ERR_ABORTED: 'upstream_cut',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'upstream_cut',
  UND_ERR_RESPONSE_EXCEEDED_MAX_SIZE: 'upstream_invalid_response',
  UND_ERR_HEADERS_OVERFLOW: 'upstream_invalid_response',
  ECONNRESET: 'upstream_cut',
  EPIPE: 'upstream_cut',
}

/**
 * Returns the failure behind a connection error. If the signal was aborted, that is its reason: an UpstreamError, or a
 * plain error for a client that left.
 */
export function connectionError(error: unknown, signal: AbortSignal, otherwise: UpstreamCode): Error {
  if (signal.aborted) return signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: error })
  if (error instanceof UpstreamError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = code.startsWith('HPE_') ? 'upstream_invalid_response' : codes[code]
  return upstreamError(known ?? otherwise, { cause: error })
}
