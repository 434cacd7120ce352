import { type ClientRequest, type IncomingMessage, type RequestOptions, request, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { forwardedHeaders } from './proxy-headers.ts'
import type { ProxyTarget } from './reach-policy.ts'

/**
 * Forwards one plain request over a fresh connection, and its answer back.
 * @throws the upstream's error if no answer has begun
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
    // Node uses this function only if no agent is given, not even `false`; otherwise it dials by itself.
    createConnection: () => socket,
    path,
    ...sentOn(incoming, [
      ...['Host', host, 'Connection', 'close'],
      // Node has already told the client to continue, so the upstream must not see the expectation.
      ...forwardedHeaders(incoming.rawHeaders, ['host', 'expect', 'content-length']),
    ]),
  })
  await relay(incoming, outgoing, upstream)
}

/** Returns the method and headers of a forwarded request: the given headers, and those that frame its body. */
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
 * Streams a request's body to its upstream and the answer back, both at the pace of the slower side. If the upstream
 * breaks off midway, so does the client's connection: a cut must never look like an end.
 * @throws the upstream's error if no answer has begun
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
    // An upstream may answer and close before it reads the whole body; then its answer counts, not the broken body.
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
  upstream.once('close', () => reject(new Error('the upstream closed the connection without an answer')))
  return promise
}
