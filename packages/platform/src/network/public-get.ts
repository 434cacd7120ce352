import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { connect as secure } from 'node:tls'
import { dialJudged, type Network } from './dial.ts'
import { readPublicHost } from './public-name.ts'

/** The URL cannot be fetched, or its answer is not what was asked for. The message is for whoever gave the URL. */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused'
}

/** How to fetch. */
export interface FetchOptions {
  readonly network: Network
  /** Judges every address of the host. */
  readonly mayDial: (address: string) => boolean
  /** Certificates to trust instead of the system's. */
  readonly ca?: string | undefined
  readonly maxBytes: number
  /** Ends the fetch, at whatever step it is. */
  readonly signal: AbortSignal
}

/**
 * Yields the content of a public HTTPS URL: one GET on port 443, without credentials, and without following a redirect.
 * The name is resolved once, every address is judged, and exactly a judged address is dialled; the certificate must be
 * for the name in the URL.
 *
 * @throws FetchRefused with words for the caller; for an address that is not public, before anything is dialled
 */
export async function* getPublic(text: string, options: FetchOptions): AsyncGenerator<Buffer> {
  const { signal, maxBytes } = options
  const url = readUrl(text)
  try {
    const response = await get(url, options)
    if (response.statusCode !== 200) {
      throw new FetchRefused(`the server answered ${response.statusCode}; give a URL that answers 200 itself`)
    }
    if (response.headers['content-encoding'] !== undefined) throw new FetchRefused('the answer is encoded')
    if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    let received = 0
    for await (const chunk of response) {
      received += chunk.length
      if (received > maxBytes) throw tooLarge(maxBytes)
      yield chunk
    }
  } catch (cause) {
    if (cause instanceof FetchRefused) throw cause
    if (signal.aborted) throw new FetchRefused('the server did not send it in time', { cause })
    throw new FetchRefused('the server could not be reached, or broke off', { cause })
  }
}

const tooLarge = (maxBytes: number) => new FetchRefused(`the answer has more than ${maxBytes} bytes`)

function readUrl(text: string): URL {
  const url = URL.parse(text)
  // The parser drops tabs and line breaks and reads backslashes as slashes; whoever sends those means to confuse.
  if (url === null || /[\s\\\p{Cc}]/u.test(text)) throw new FetchRefused('is not a URL')
  if (url.protocol !== 'https:') throw new FetchRefused('is not an https URL')
  if (/^https:\/*[^/?#]*@/i.test(text)) throw new FetchRefused('must not contain credentials')
  if (text.includes('#')) throw new FetchRefused('must not contain a fragment')
  if (url.port !== '') throw new FetchRefused('must use port 443')
  return url
}

async function get(url: URL, { network, mayDial, ca, signal }: FetchOptions): Promise<IncomingMessage> {
  const host = readPublicHost(url.hostname)
  const notPublic = 'its host is not public'
  if (host.kind === 'private') throw new FetchRefused(notPublic)
  const addresses = host.kind === 'address' ? [host.address] : await network.resolve(host.name, signal)
  if (addresses.length === 0 || !addresses.every(mayDial)) throw new FetchRefused(notPublic)
  const name = host.kind === 'name' ? host.name : undefined
  const socket = await dialJudged(network, { host: url.hostname, port: 443, addresses }, mayDial, signal)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const verified = {
    socket,
    ...(name === undefined ? { host: addresses[0] } : { servername: name, host: name }),
    ...(ca !== undefined && { ca }),
  }
  const outgoing = request(url, {
    method: 'GET',
    signal,
    headers: {
      host: url.host,
      accept: 'application/octet-stream, */*',
      'accept-encoding': 'identity',
      'user-agent': 'Berth',
    },
    createConnection: () => secure({ ...verified, ALPNProtocols: ['http/1.1'] }),
  })
  outgoing.once('response', resolve).once('error', reject).end()
  // A response whose reader has left is destroyed, and its socket with it.
  return promise.catch(error => {
    socket.destroy()
    throw error
  })
}
