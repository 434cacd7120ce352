import type { LanguageModelV4 } from '@ai-sdk/provider'
import { type Dispatcher, Pool, fetch as undiciFetch } from 'undici'
import { type UpstreamCode, UpstreamError } from './upstream.ts'
import { upstreamError } from './upstream-status.ts'

/** A provider as it is configured. */
export interface Provider {
  readonly id: string
  readonly kind: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  readonly wire: readonly ('chat' | 'responses')[]
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

/** The connections to one provider. Nothing is followed to another place: a redirect would carry the key there. */
export class ProviderClient {
  readonly provider: Provider
  readonly baseUrl: string
  readonly #pool: Pool
  readonly #path: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(provider: Provider, limits: ProviderLimits) {
    this.provider = provider
    this.baseUrl = provider.baseUrl ?? defaultBaseUrls[provider.kind]
    const url = new URL(this.baseUrl)
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
    readonly body?: Buffer
    readonly signal: AbortSignal
  }): Promise<Dispatcher.ResponseData> {
    const { method, path, body = null, signal } = request
    try {
      return await this.#pool.request({
        method,
        path: this.#path + path,
        headers: this.#headers,
        body,
        signal,
      })
    } catch (error) {
      throw connectionError(error, signal, 'upstream_unreachable')
    }
  }

  /** The same provider as the `ai` library calls it. Its code is loaded by the first who needs it. */
  async languageModel(model: string): Promise<LanguageModelV4> {
    const { kind, id: name, apiKey = '', wire } = this.provider
    const options = { baseURL: this.baseUrl, apiKey, fetch: this.#fetch }
    if (kind === 'anthropic') return (await import('@ai-sdk/anthropic')).createAnthropic(options)(model)
    if (kind === 'google') return (await import('@ai-sdk/google')).createGoogleGenerativeAI(options)(model)
    if (wire.includes('responses')) return (await import('@ai-sdk/openai')).createOpenAI(options).responses(model)
    if (kind === 'openai') return (await import('@ai-sdk/openai')).createOpenAI(options).chat(model)
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    return createOpenAICompatible({ ...options, name, includeUsage: true }).chatModel(model)
  }

  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  readonly #fetch: typeof globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    const sent = { ...init, dispatcher: this.#pool, redirect: 'error' } as Parameters<typeof undiciFetch>[1]
    return (await undiciFetch(url, sent)) as unknown as Response
  }
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
