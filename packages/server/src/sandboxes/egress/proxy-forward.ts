import { type ClientRequest, type IncomingMessage, type RequestOptions, request, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { forwardedHeaders } from './proxy-headers.ts'
import type { ProxyTarget } from './reach-policy.ts'

/**
 * Sends one plain request on over a fresh connection, and its answer back.
 * @throws what the upstream failed with, as long as no answer has begun
 */
export async function forwardRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: ProxyTarget,
  path: string,
  socket: Socket,
): Promise<void> {
  const host = target.port === 80 ? target.host : `${target.host}:${target.port}`
  const upstream = request({
    // Only without an agent, be it `false`, does Node use this function and not dial by itself.
    createConnection: () => socket,
    path,
    ...sentOn(incoming, [
      ...['Host', host, 'Connection', 'close'],
      // Node has told the client to continue itself, so the expectation is not the upstream's to meet.
      ...forwardedHeaders(incoming.rawHeaders, ['host', 'expect', 'content-length']),
    ]),
  })
  await relay(incoming, outgoing, upstream)
}

/** Method and headers to send a request on with: those given, and how its body is framed. */
export function sentOn(
  { method = 'GET', headers: { 'transfer-encoding': encoding, 'content-length': length } }: IncomingMessage,
  headers: readonly string[],
): Pick<RequestOptions, 'method' | 'headers'> {
  const chunked = encoding === undefined ? [] : ['Transfer-Encoding', 'chunked']
  return {
    method,
    headers: [...headers, ...(encoding === undefined && length !== undefined ? ['Content-Length', length] : chunked)],
  }
}

/**
 * Streams a request's body to its upstream and the answer back, both at the pace of the slower side. An upstream that
 * breaks off in the middle breaks the client's connection too, so that a cut never looks like an end.
 * @throws what the upstream failed with, as long as no answer has begun
 */
export async function relay(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  upstream: ClientRequest,
): Promise<void> {
  const abort = () => {
    if (!outgoing.writableFinished) upstream.destroy()
  }
  outgoing.once('close', abort)
  try {
    const answered = responseOf(upstream)
    // An upstream may answer and close before it has read the whole body; then the answer counts, not the broken body.
    const sent = pipeline(incoming, upstream).catch((error: unknown) => error)
    const response = await Promise.race([answered, sent.then(() => answered)])
    outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, forwardedHeaders(response.rawHeaders))
    outgoing.flushHeaders()
    await pipeline(response, outgoing)
  } finally {
    outgoing.off('close', abort)
    upstream.destroy()
  }
}

function responseOf(upstream: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  upstream.once('response', resolve)
  upstream.on('error', reject)
  upstream.once('close', () => reject(new Error('the upstream closed without an answer')))
  return promise
}
