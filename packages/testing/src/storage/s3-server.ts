import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { S3Location } from '@berth/platform/storage/blobs/s3-client.ts'
import { buildApp } from 'fauxqs'

/** A request that reached the server. */
export interface S3Request {
  readonly method: string
  /** Bucket and key. */
  readonly path: string
  readonly query: URLSearchParams
}

/** A fault in the answer to a request. */
export type S3Fault =
  /** The store refuses and does nothing. */
  | { readonly kind: 'answer'; readonly status: number; readonly code: string; readonly body?: string }
  /** The connection breaks while the request is sent. */
  | { readonly kind: 'cut' }
  /** The store does its work, and the connection breaks before the answer. */
  | { readonly kind: 'lose-answer' }
  /**
   * The body of the answer breaks off after that many bytes. `shorten` also announces that length, so the body looks
   * whole.
   */
  | { readonly kind: 'truncate' | 'shorten'; readonly bytes: number }
  /** The body of the answer brings that many bytes, then nothing. */
  | { readonly kind: 'stall'; readonly bytes: number }
  /** The store waits before it answers. */
  | { readonly kind: 'hold'; readonly until: Promise<unknown> }

/** An S3 server on loopback that can inject faults. */
export interface S3Server extends AsyncDisposable {
  readonly requests: readonly S3Request[]
  /** Chooses the fault of every request. */
  fault: (request: S3Request) => S3Fault | undefined
  /** Returns a location in its bucket that nothing else uses. */
  location(prefix?: string): S3Location
  /** Refuses new connections and breaks existing ones. */
  stop(): Promise<void>
  /** Serves the same data again at the same port. */
  resume(): Promise<void>
}

/** The secret holds characters that need escapes in a signature. */
const credentials = { accessKeyId: 'AKIDTEST', secretAccessKey: 'c2VjcmV0/+with=signs' }
const bucket = 'berth-test'

/**
 * The store itself is fauxqs, which accepts every request. The proxy before it checks the signer's key and the signed
 * digest of the body, honours the condition of a put, and injects the faults.
 */
export async function startS3Server(): Promise<S3Server> {
  const store = buildApp({ logger: false })
  await store.inject({ method: 'PUT', url: `/${bucket}` })
  const requests: S3Request[] = []
  const putOnce = new Set<string>()
  let prefixes = 0

  const front = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  /** Refuses a put that requires a missing object if the object exists; only such puts count as creating one. */
  const unmet = (request: IncomingMessage, { path }: S3Request) => {
    if (request.headers['if-none-match'] !== '*') return undefined
    if (putOnce.has(path)) return { kind: 'answer', status: 412, code: 'PreconditionFailed', body: undefined } as const
    putOnce.add(path)
    return undefined
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3.invalid')
    const seen = { method: request.method ?? '', path: decodeURIComponent(pathname), query: searchParams }
    requests.push(seen)
    const fault = server.fault(seen)
    if (fault?.kind === 'cut') {
      await once(request, 'readable')
      request.socket.destroy()
      return
    }
    const body = await buffer(request)
    const refused = fault?.kind === 'answer' ? fault : (refusal(request, body) ?? unmet(request, seen))
    if (refused !== undefined) {
      const xml = `<?xml version="1.0"?><Error><Code>${refused.code}</Code><Message>refused</Message></Error>`
      response.writeHead(refused.status, { 'content-type': 'application/xml' })
      response.end(request.method === 'HEAD' ? undefined : (refused.body ?? xml))
      return
    }
    if (fault?.kind === 'hold') await fault.until
    const { statusCode, headers, rawPayload } = await store.inject({
      method: asMethod(seen.method),
      url: request.url ?? '/',
      headers: request.headers,
      payload: body,
    })
    if (fault?.kind === 'lose-answer') {
      request.socket.destroy()
      return
    }
    const { 'transfer-encoding': _chunked, ...plain } = headers
    const limit = fault !== undefined && 'bytes' in fault ? fault.bytes : rawPayload.length
    const length = fault?.kind === 'shorten' ? limit : (headers['content-length'] ?? rawPayload.length)
    response.writeHead(statusCode, { ...plain, 'content-length': length })
    response.write(rawPayload.subarray(0, limit))
    if (fault?.kind === 'stall') return
    if (fault?.kind === 'truncate') setImmediate(() => request.socket.destroy())
    else response.end()
  }

  const listen = async (port: number): Promise<void> => {
    front.listen(port, '127.0.0.1')
    await once(front, 'listening')
  }
  await listen(0)
  const { port } = front.address() as AddressInfo
  const server: S3Server = {
    requests,
    fault: () => undefined,
    location(prefix) {
      prefixes += 1
      return {
        bucket,
        prefix: prefix ?? `test-${prefixes}/blobs/`,
        region: 'us-east-1',
        endpoint: `http://127.0.0.1:${port}`,
        keys: credentials,
      }
    },
    async stop() {
      const closed = once(front, 'close')
      front.close()
      front.closeAllConnections()
      await closed
    },
    resume: () => listen(port),
    async [Symbol.asyncDispose]() {
      if (front.listening) await server.stop()
      await store.close()
    },
  }
  return server
}

function refusal(
  { headers }: IncomingMessage,
  body: Buffer,
): { status: number; code: string; body?: string } | undefined {
  const signer = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/us-east-1\/s3\/aws4_request, /.exec(
    headers.authorization ?? '',
  )?.[1]
  if (signer !== credentials.accessKeyId) return { status: 403, code: 'InvalidAccessKeyId' }
  const signed = /SignedHeaders=[^,]*x-amz-content-sha256/.test(headers.authorization ?? '')
  const digest = createHash('sha256').update(body).digest('hex')
  if (!signed || headers['x-amz-content-sha256'] !== digest) return { status: 400, code: 'XAmzContentSHA256Mismatch' }
  return undefined
}

function asMethod(method: string): 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE' {
  if (method === 'GET' || method === 'HEAD' || method === 'PUT' || method === 'POST') return method
  return 'DELETE'
}
