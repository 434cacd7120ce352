import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { type Dispatcher, Pool } from 'undici'
import { type UpstreamCode, UpstreamError } from '../../kit/upstream-error.ts'
import type { Wire } from './upstream.ts'
import { UpstreamAnswer } from './upstream-answer.ts'
import { upstreamError } from './upstream-status.ts'

/** A provider as it is configured. */
export interface Provider {
  readonly id: string
  readonly kind: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  readonly wire: readonly Wire[]
}

/** How long a provider may take, and how many connections it gets. */
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
 * A body this long is made, encoded and written in a turn of the event loop each. Others wait for the longest of the three
 * then, and not for all.
 */
const largeCharacters = 1024 ** 2

/** The connections to one provider. Nothing is followed to another place: a redirect would carry the key there. */
export class ProviderClient {
  readonly provider: Provider
  readonly baseUrl: string
  readonly #pool: Pool
  readonly #origin: string
  readonly #path: string
  readonly #headers: Readonly<Record<string, string>>
  #models: Promise<(model: string) => LanguageModelV4> | null = null

  constructor(provider: Provider, limits: ProviderLimits) {
    this.provider = provider
    this.baseUrl = provider.baseUrl ?? defaultBaseUrls[provider.kind]
    const url = new URL(this.baseUrl)
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

  /** Asks the provider. @throws UpstreamError where no answer came, or the signal's reason where that is one */
  async send(request: {
    readonly method: 'GET' | 'POST'
    readonly path: string
    /** Beside those of the provider's own, whose credential is not theirs to name. */
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: Buffer
    readonly signal: AbortSignal
  }): Promise<UpstreamAnswer> {
    const { method, path, body = null, signal } = request
    const headers = request.headers === undefined ? this.#headers : { ...this.#headers, ...request.headers }
    return this.#ask({ method, path: this.#path + path, headers, body }, signal)
  }

  /** The same provider as the `ai` library calls it. Its code is loaded by the first who needs it. */
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
    return createOpenAICompatible({ ...options, name, includeUsage: true }).chatModel
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
   * As much of `fetch` as the `ai` library's packages use: they post a string, and read status, headers and the body's
   * stream. The whole of it took longer than all else that a translation does.
   */
  readonly #fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const url = String(input)
    if (!url.startsWith(`${this.#origin}/`)) throw new Error(`a call of ${this.provider.id} went to another place`)
    const { body, signal, headers } = init
    if (typeof body !== 'string') throw new Error('a body is not a string')
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
    const told = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const)
    const least = {
      ok: status >= 200 && status < 300,
      status,
      statusText: '',
      headers: new Map(told),
      body: bodyOf(answer),
    }
    return least as unknown as Response
  }
}

/**
 * As much of a web stream as those packages use. Who reads an answer whole reads it from its connection; a stream is made
 * for who pipes it through others.
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
 * What a failed connection means. Where the signal was aborted, its reason: an UpstreamError as it is, and a plain error
 * for a client that left.
 */
export function connectionError(error: unknown, signal: AbortSignal, otherwise: UpstreamCode): Error {
  if (signal.aborted) return signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: error })
  if (error instanceof UpstreamError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = code.startsWith('HPE_') ? 'upstream_invalid_response' : codes[code]
  return upstreamError(known ?? otherwise, { cause: error })
}
