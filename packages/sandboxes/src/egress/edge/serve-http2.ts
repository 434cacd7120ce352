import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type Http2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { bodyOf, type Edge, isRefusal, type Refusal } from './edge.ts'
import { pairsOf, type RequestHead } from './request-head.ts'

/** Of one stream, and of a connection: with the protocol's own 64 KiB, a body waits for each of its parts. */
const STREAM_WINDOW = 256 * 1024
const SESSION_WINDOW = 4 * 1024 * 1024
/** Further ones wait at the client. Each may hold a window in either direction for as long as nobody reads it. */
const MAX_STREAMS = 32
const settings = { initialWindowSize: STREAM_WINDOW, maxHeaderListSize: 64 * 1024, enablePush: false }
/** Otherwise Node throws at a header that a host or a client repeats, though both sides may do so. */
const lenient = { strictSingleValueFields: false }
const clientOptions = { ...lenient, settings: { ...settings, maxConcurrentStreams: MAX_STREAMS } }
const END_STREAM = 1

/**
 * Serves a client over HTTP/2, each of its streams as one of the host's. Either connection ends with the other.
 * @param upstream absent if the host could not be trusted: then every request is refused
 */
export function serveHttp2(client: TLSSocket, upstream: TLSSocket | undefined, edge: Edge): void {
  const session = performServerHandshake(client, clientOptions)
  const host = upstream && connect(`https://${edge.host}`, { createConnection: () => upstream, settings, ...lenient })
  session.on('error', () => undefined)
  session.setLocalWindowSize(SESSION_WINDOW)
  host?.on('error', () => undefined)
  // Node tells of a connection also if it was closed meanwhile.
  host?.once('connect', () => host.destroyed || host.setLocalWindowSize(SESSION_WINDOW))
  session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: unknown) => {
    stream.on('error', () => undefined)
    // Of a stream that was reset, nobody reads the rest; until then it would stay in memory.
    stream.once('aborted', () => stream.unpipe().resume())
    tell(stream, () => {
      const judged = judge(headers, rawOf(raw), edge)
      if (isRefusal(judged)) refuse(stream, judged)
      else if (host === undefined || host.destroyed || host.closed) refuse(stream, gone)
      else pass(stream, judged, (flags & END_STREAM) !== 0, { host, edge })
    })
  })
  host?.once('goaway', () => session.close())
  host?.once('close', () => session.close())
  session.once('close', () => {
    host?.destroy()
    upstream?.destroy()
    client.destroy()
  })
}

const gone: Refusal = { status: 502, code: 'upstream_failed', message: 'the host has closed the connection' }

const rawOf = (raw: unknown): readonly string[] => (Array.isArray(raw) ? raw.map(String) : [])

function judge(headers: IncomingHttpHeaders, raw: readonly string[], edge: Edge): RequestHead | Refusal {
  const { ':method': method, ':path': target, ':authority': authority, host } = headers
  const isPlain = headers[':protocol'] === undefined && method !== 'CONNECT' && target?.startsWith('/') === true
  if (method === undefined || target === undefined || !isPlain || (authority !== undefined && host !== undefined)) {
    return { status: 400, code: 'malformed_request', message: 'send a path and one authority' }
  }
  const pairs = pairsOf(raw).filter(([name]) => !name.startsWith(':') && !ofConnection.has(name))
  return edge.judge({ method, target, headers: pairs }, authority ?? host)
}

/** Headers of one connection, which the protocol forbids (RFC 9113, 8.2.2) or that are the proxy's own. */
const ofConnection = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'host', 'http2-settings'],
  ...['proxy-authorization', 'proxy-authenticate'],
])

/**
 * Takes a step at a stream, unless that has been closed. What either side has sent may be nothing that Node sends on;
 * then the stream is reset. An error that left a handler of an event would end the process.
 */
function tell(stream: Http2Stream, step: () => void): void {
  if (stream.destroyed || stream.closed) return
  try {
    step()
  } catch {
    stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
}

function refuse(stream: ServerHttp2Stream, refusal: Refusal): void {
  tell(stream, () => {
    stream.resume()
    stream.respond({ ':status': refusal.status, 'content-type': 'application/json' })
    stream.end(bodyOf(refusal))
  })
}

/** Sends a request to the host as a stream of its own, and the answer back, both at the pace of the slower side. */
function pass(
  stream: ServerHttp2Stream,
  head: RequestHead,
  isWhole: boolean,
  { host, edge }: { readonly host: ClientHttp2Session; readonly edge: Edge },
): void {
  let sent: ClientHttp2Stream
  try {
    sent = host.request(requestOf(head, edge), { endStream: isWhole, waitForTrailers: !isWhole })
  } catch (error) {
    refuse(stream, { ...gone, message: `this request cannot be sent: ${String(error)}` })
    return
  }
  let hasAnswer = false
  let isAnswered = false
  /** A host may answer without the whole body, and close its stream; the client is to send no more of it then. */
  const settle = () => {
    if (!isWhole && isAnswered && sent.destroyed && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
  }
  let trailers: OutgoingHttpHeaders = {}
  if (isWhole) stream.resume()
  else {
    pour(stream, sent)
    stream.once('trailers', (_: unknown, __: unknown, raw: unknown) => {
      trailers = objectOf(pairsOf(rawOf(raw)))
    })
    sent.once('wantTrailers', () => tell(sent, () => sent.sendTrailers(trailers)))
  }
  sent.on('headers', (headers: IncomingHttpHeaders, _: unknown, raw: unknown) => {
    const status = Number(headers[':status'])
    if (stream.headersSent || status === 101) return
    tell(stream, () => stream.additionalHeaders(answerOf(status, rawOf(raw), edge)))
  })
  sent.once('continue', () => {
    if (!stream.headersSent) tell(stream, () => stream.additionalHeaders({ ':status': 100 }))
  })
  sent.once('response', (headers: IncomingHttpHeaders, flags: number, raw: unknown) => {
    hasAnswer = true
    const endStream = (flags & END_STREAM) !== 0
    const answer = answerOf(Number(headers[':status']), rawOf(raw), edge)
    tell(stream, () => stream.respond(answer, { endStream, waitForTrailers: !endStream }))
    isAnswered = endStream
    if (endStream || stream.closed) return
    let last: OutgoingHttpHeaders = {}
    sent.once('trailers', (_: unknown, __: unknown, rawTrailers: unknown) => {
      last = objectOf(edge.masked(pairsOf(rawOf(rawTrailers))))
    })
    stream.once('wantTrailers', () => {
      tell(stream, () => stream.sendTrailers(last))
      isAnswered = true
      settle()
    })
    pour(sent, stream)
  })
  sent.on('error', () => undefined)
  sent.once('close', () => {
    if (stream.destroyed || stream.closed) return
    if (sent.rstCode !== constants.NGHTTP2_NO_ERROR) stream.close(sent.rstCode)
    else if (hasAnswer) settle()
    else refuse(stream, gone)
  })
  stream.once('close', () => {
    if (sent.destroyed) return
    sent.close(stream.rstCode === constants.NGHTTP2_NO_ERROR ? constants.NGHTTP2_CANCEL : stream.rstCode)
    sent.unpipe().resume()
  })
}

/** Pours one stream into another. A stream that was reset ends as well, as Node tells it; that is a cut, not an end. */
function pour(from: Http2Stream, to: Http2Stream): void {
  from.pipe(to, { end: false })
  from.once('end', () => {
    if (to.destroyed || to.closed) return
    if (from.rstCode === constants.NGHTTP2_NO_ERROR && !from.aborted) to.end()
    else to.close(from.rstCode || constants.NGHTTP2_CANCEL)
  })
}

function requestOf({ headers, method, target }: RequestHead, { host, sensitive }: Edge): OutgoingHttpHeaders {
  return {
    ...objectOf(headers),
    ':method': method,
    ':path': target,
    ':authority': host,
    ':scheme': 'https',
    // A secret is worth keeping in no connection's table of headers.
    [sensitiveHeaders]: [...sensitive],
  }
}

const answerOf = (status: number, raw: readonly string[], edge: Edge): OutgoingHttpHeaders => ({
  ...objectOf(edge.masked(pairsOf(raw).filter(([name]) => !name.startsWith(':') && !ofConnection.has(name)))),
  ':status': status,
})

function objectOf(pairs: RequestHead['headers']): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of pairs) {
    const before = headers[name]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  return headers
}
