/** The options and the request that the SDK's adapter gives. */
interface ClientOptions {
  readonly apiKey: string
  readonly baseURL: string
  readonly fetch: typeof fetch
}
type Params = { readonly betas?: readonly string[] } & Readonly<Record<string, unknown>>

/**
 * Stands for Anthropic's own client in the engine's bundle. The SDK's adapter needs one request of it, whose answer it
 * reads itself, and the whole client would be a tenth of the bundle.
 */
export default class Anthropic {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  readonly beta = {
    messages: {
      create: (params: Params, { signal }: { readonly signal?: AbortSignal } = {}) => ({
        asResponse: () => this.#send(params, signal),
      }),
    },
  }

  async #send({ betas = [], ...body }: Params, signal: AbortSignal | undefined): Promise<Response> {
    const { apiKey, baseURL, fetch } = this.#options
    const response = await fetch(`${baseURL}/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
      },
      body: JSON.stringify(body),
      ...(signal !== undefined && { signal }),
    })
    if (!response.ok) throw new Error(`the gateway answered ${response.status}`)
    return response
  }
}
