import { asObject, type Json, parseObject } from '../../json.ts'

interface ClientOptions {
  readonly apiKey: string
  readonly httpOptions?: { readonly baseUrl?: string }
}

/** A request in the form of Google's client, with the `fetch` that sends it. */
interface Params {
  readonly model: string
  readonly contents: readonly Json[]
  readonly config?: Json & { readonly abortSignal?: AbortSignal }
  readonly fetch: typeof fetch
}

const named = <Name extends string>(...names: readonly Name[]) =>
  Object.fromEntries(names.map(name => [name, name])) as { readonly [Key in Name]: Key }

export const FunctionCallingConfigMode = named('AUTO', 'ANY', 'NONE', 'VALIDATED')
export const ThinkingLevel = named('THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH')
export const FinishReason = named(
  ...['STOP', 'MAX_TOKENS', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'SAFETY', 'IMAGE_SAFETY', 'IMAGE_OTHER'],
  ...['IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION', 'RECITATION', 'FINISH_REASON_UNSPECIFIED', 'OTHER', 'LANGUAGE'],
  ...['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'NO_IMAGE'],
)

/**
 * Stands for Google's own client in the engine's bundle. The SDK's adapter needs one request of it, and the whole client
 * would be larger than the rest of the bundle.
 */
export class GoogleGenAI {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  readonly models = { generateContentStream: (params: Params) => this.#send(params) }

  async #send({ model, contents, config = {}, fetch }: Params): Promise<AsyncIterable<Json>> {
    const { apiKey, httpOptions = {} } = this.#options
    const { abortSignal, systemInstruction: system, tools, toolConfig, ...generationConfig } = config
    const body = {
      contents,
      ...(typeof system === 'string' && { systemInstruction: { parts: [{ text: system }] } }),
      tools,
      toolConfig,
      generationConfig,
    }
    const path = `/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`
    const response = await fetch(`${httpOptions.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(abortSignal !== undefined && { signal: abortSignal }),
    })
    if (!response.ok || response.body === null) throw new Error(`the gateway answered ${response.status}`)
    return chunksOf(response.body)
  }
}

/** Reads the parts of an answer. @throws Error `<code>: <message>` if the gateway tells of a failure */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Json> {
  let pending = ''
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const frames = (pending + text).split(/\r?\n\r?\n/)
    pending = frames.pop() ?? ''
    for (const frame of frames) {
      if (!frame.startsWith('data:')) continue
      const chunk = parseObject(frame.slice('data:'.length))
      if (chunk === null) throw new Error('A part of the answer is not JSON.')
      if ('error' in chunk) throw new Error(failureIn(asObject(chunk['error'])))
      yield chunk
    }
  }
}

function failureIn({ message, details }: Json): string {
  const { reason } = asObject(Array.isArray(details) ? details[0] : null)
  return `${typeof reason === 'string' ? reason : 'upstream_failed'}: ${message}`
}
