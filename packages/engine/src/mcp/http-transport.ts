import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'

/** Limit for one response. A stream that exceeds it is opened again. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/**
 * Returns a transport to a server at a URL. It uses Node's own `fetch`, which follows the sandbox's proxy variables:
 * outside hosts go through the proxy, and loopback is the sandbox itself.
 */
export function httpTransport(kind: 'http' | 'sse', url: string, headers: Readonly<Record<string, string>>): Transport {
  const address = URL.parse(url)
  if (address === null || !/^https?:$/.test(address.protocol))
    throw new Error('its URL must begin with http:// or https://')
  const options = { requestInit: { headers: { ...headers } }, fetch: boundedFetch }
  return kind === 'sse' ? new SSEClientTransport(address, options) : new HttpTransport(address, options)
}

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1]

/** Answers every request: if the response ends without an answer, the caller would otherwise wait for the timeout. */
class HttpTransport extends StreamableHTTPClientTransport {
  override send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (!isJSONRPCRequest(message)) return super.send(message, options)
    const { id } = message
    const error = { code: -32_000, message: 'the response ended without an answer' }
    // The client ignores a second answer to the same request.
    const onRequestStreamEnd = () => this.onmessage?.({ jsonrpc: '2.0', id, error })
    return super.send(message, { onRequestStreamEnd, ...options })
  }
}

async function boundedFetch(input: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  if (response.body === null) return response
  let bytes = 0
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) controller.error(new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`))
      else controller.enqueue(chunk)
    },
  })
  return new Response(response.body.pipeThrough(bound), response)
}
