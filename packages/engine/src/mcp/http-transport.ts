import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'

/** Of one answer; a stream that has carried more is begun anew. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/**
 * A server at a URL. Requests are those of Node's own client, which goes by the sandbox's proxy variables: what is outside
 * is reached through its proxy, and loopback is the sandbox itself.
 */
export function httpTransport(kind: 'http' | 'sse', url: string, headers: Readonly<Record<string, string>>): Transport {
  const address = URL.parse(url)
  if (address === null || !/^https?:$/.test(address.protocol)) throw new Error('its URL is none of http or https')
  const options = { requestInit: { headers: { ...headers } }, fetch: boundedFetch }
  return kind === 'sse' ? new SSEClientTransport(address, options) : new HttpTransport(address, options)
}

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1]

/** With an answer for every request: one whose answer ends before it has come would be waited for to its bound. */
class HttpTransport extends StreamableHTTPClientTransport {
  override send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (!isJSONRPCRequest(message)) return super.send(message, options)
    const { id } = message
    const error = { code: -32_000, message: 'it ended its answer before it was there' }
    // What has been answered already takes no notice of a second answer.
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
