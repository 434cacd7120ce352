import { type Agent, createServer, type IncomingMessage, request, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { TLSSocket } from 'node:tls'
import { forwardedHeaders } from '../proxy-headers.ts'
import { bodyOf, type Edge, isRefusal, type Refusal } from './edge.ts'
import { OneConnection } from './one-connection.ts'
import { pairsOf, type RequestHead } from './request-head.ts'

const MAX_HEADER_BYTES = 32 * 1024

/**
 * Serves a client over HTTP/1.1, and passes its requests to the host one after another. Either connection ends with the
 * other.
 * @param upstream absent if the host could not be trusted: then every request is refused
 */
export function serveHttp1(client: TLSSocket, upstream: TLSSocket | undefined, edge: Edge): void {
  const agent = upstream && new OneConnection(upstream)
  let underWay = 0
  // Node refuses a request that has both lengths, or one of them twice, which two servers may read differently.
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: 0,
    keepAliveTimeout: 0,
    insecureHTTPParser: false,
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  })
  const end = () => {
    if (underWay === 0) client.destroySoon()
  }
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse, upgraded?: Upgraded) => {
    underWay += 1
    outgoing.sendDate = false
    try {
      const judged = judge(incoming, edge)
      if (isRefusal(judged) || agent === undefined) refuse(incoming, outgoing, isRefusal(judged) ? judged : gone)
      else await pass(incoming, outgoing, { head: judged, edge, agent, upgraded })
    } catch (error) {
      if (outgoing.headersSent) outgoing.destroy()
      else refuse(incoming, outgoing, { ...gone, message: `${edge.host} did not answer: ${String(error)}` })
    } finally {
      underWay -= 1
      if (upstream === undefined || upstream.destroyed) outgoing.writableFinished ? end() : outgoing.once('finish', end)
    }
  }
  server.on('request', (incoming, outgoing) => void answer(incoming, outgoing))
  server.on('checkContinue', (incoming, outgoing) => void answer(incoming, outgoing))
  server.on('upgrade', (incoming, socket, head) => {
    const outgoing = new ServerResponse(incoming)
    outgoing.assignSocket(client)
    outgoing.shouldKeepAlive = false
    outgoing.once('finish', () => client.destroySoon())
    void answer(incoming, outgoing, { socket, head })
  })
  server.emit('connection', client)
  upstream?.once('close', end)
  client.once('close', () => {
    agent?.destroy()
    upstream?.destroy()
  })
}

/** A client that has asked for another protocol, and the bytes behind its request. */
interface Upgraded {
  readonly socket: Duplex
  readonly head: Buffer
}

const gone: Refusal = { status: 502, code: 'upstream_failed', message: 'the host has closed the connection' }

function judge(incoming: IncomingMessage, edge: Edge): RequestHead | Refusal {
  const { headers, method = 'GET', rawHeaders, url = '' } = incoming
  const pairs = pairsOf(rawHeaders)
  const hosts = pairs.filter(([name]) => name.toLowerCase() === 'host')
  // Node has read one coding of the body, and would send it as if it were the only one.
  const coding = headers['transfer-encoding']
  if (
    (!url.startsWith('/') && url !== '*') ||
    hosts.length !== 1 ||
    (coding !== undefined && !/^chunked$/i.test(coding))
  ) {
    return {
      status: 400,
      code: 'malformed_request',
      message: 'send a path, one Host and a body that is at most chunked',
    }
  }
  return edge.judge({ method, target: url, headers: pairs }, hosts[0]?.[1])
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse, refusal: Refusal): void {
  // Reads and drops the rest of the body: closing while the client still writes would lose the answer.
  incoming.resume()
  const body = bodyOf(refusal)
  if (incoming.headers.expect !== undefined) outgoing.shouldKeepAlive = false
  outgoing.writeHead(refusal.status, { 'Content-Type': 'application/json', 'Content-Length': body.length })
  outgoing.end(incoming.method === 'HEAD' ? undefined : body)
}

interface Passed {
  readonly head: RequestHead
  readonly edge: Edge
  readonly agent: Agent
  readonly upgraded: Upgraded | undefined
}

/**
 * Sends a request to the host, and its answer back, both at the pace of the slower side. A body that breaks off midway
 * breaks the client's connection: a cut must never look like an end.
 */
async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { head, edge, agent, upgraded }: Passed,
): Promise<void> {
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers
  const sent = request({
    agent,
    method: head.method,
    path: head.target,
    headers: [
      // As it was judged, whatever `Connection` names.
      ...['Host', incoming.headers.host ?? ''],
      ...forwardedHeaders(head.headers.flat(), ['content-length', 'host']),
      ...(coding !== undefined
        ? ['Transfer-Encoding', 'chunked']
        : length !== undefined
          ? ['Content-Length', length]
          : []),
      ...(upgraded ? ['Connection', 'Upgrade', 'Upgrade', incoming.headers.upgrade ?? ''] : []),
    ],
  })
  const abort = () => {
    if (!outgoing.writableFinished) sent.destroy()
  }
  outgoing.once('close', abort)
  const answer = Promise.withResolvers<IncomingMessage | undefined>()
  sent.on('error', answer.reject)
  sent.once('close', () => answer.reject(new Error('it closed the connection')))
  sent.once('response', answer.resolve)
  let sendsBody = incoming.headers.expect === undefined
  sent.once('continue', () => {
    sendsBody = true
    outgoing.writeContinue()
  })
  sent.once('upgrade', (response: IncomingMessage, socket: Duplex, first: Buffer) => {
    if (upgraded) join(upgraded, { socket, head: first }, response, edge)
    else socket.destroy()
    answer.resolve(undefined)
  })
  let isUpgraded = false
  try {
    // The host may answer before there is a body, and the client may wait for that.
    if (coding !== undefined || length !== undefined) sent.flushHeaders()
    const body = sendBody(incoming, sent)
    const response = await Promise.race([answer.promise, body.then(() => answer.promise)])
    isUpgraded = response === undefined
    const isBodyless = response !== undefined && !sendsBody && !incoming.complete
    if (response) await giveAnswer(response, outgoing, edge, sent.shouldKeepAlive && !isBodyless)
    // A host may answer first and read on; the next request begins behind the body.
    if (!isBodyless) await body
  } finally {
    outgoing.off('close', abort)
    if (!isUpgraded && !sent.writableFinished) {
      sent.destroy()
      // The client may still write: closing then would lose the answer.
      incoming.resume()
    }
  }
}

/** Returns no error: a host may answer and close before it reads the whole body, and then its answer counts. */
async function sendBody(incoming: IncomingMessage, sent: ReturnType<typeof request>): Promise<void> {
  try {
    await pipeline(incoming, sent, { end: false })
    if (incoming.rawTrailers.length > 0) sent.addTrailers(trailersOf(pairsOf(incoming.rawTrailers)))
    sent.end()
  } catch {
    // The answer, or its absence, says what happened.
  }
}

async function giveAnswer(
  response: IncomingMessage,
  outgoing: ServerResponse,
  edge: Edge,
  keepsAlive: boolean,
): Promise<void> {
  if (!keepsAlive) outgoing.shouldKeepAlive = false
  const headers = edge.masked(pairsOf(forwardedHeaders(response.rawHeaders)))
  outgoing.writeHead(response.statusCode ?? 502, reasonOf(response, edge), headers.flat())
  outgoing.flushHeaders()
  await pipeline(response, outgoing, { end: false })
  const trailers = edge.masked(pairsOf(response.rawTrailers))
  if (trailers.length > 0) outgoing.addTrailers(trailersOf(trailers))
  outgoing.end()
}

/** Returns the words of an answer's first line, which may hold a value as a header may. */
const reasonOf = ({ statusMessage = '' }: IncomingMessage, edge: Edge): string =>
  edge.masked([['', statusMessage]])[0]?.[1] ?? ''

/** Returns pairs as Node wants them, which changes its arguments. */
const trailersOf = (pairs: RequestHead['headers']) => pairs.map(([name, value]): [string, string] => [name, value])

/** Passes the host's consent on, and then the bytes of the other protocol both ways. */
function join(client: Upgraded, host: Upgraded, response: IncomingMessage, edge: Edge): void {
  const headers = edge.masked(pairsOf(response.rawHeaders)).map(([name, value]) => `${name}: ${value}\r\n`)
  client.socket.write(`HTTP/1.1 101 ${reasonOf(response, edge)}\r\n${headers.join('')}\r\n`, 'latin1')
  if (host.head.length > 0) client.socket.write(host.head)
  if (client.head.length > 0) host.socket.write(client.head)
  for (const [one, other] of [
    [client.socket, host.socket],
    [host.socket, client.socket],
  ] as const) {
    one.on('error', () => undefined).once('close', () => other.destroy())
    one.pipe(other)
  }
}
