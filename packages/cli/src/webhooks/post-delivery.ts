import { once } from 'node:events'
import { type IncomingMessage, request as plain } from 'node:http'
import { request as secure } from 'node:https'

/** An attempt has this long until the end of the response's headers, as the service's have. */
const ATTEMPT_MS = 10_000
/** Of a response's body at most this much time is spent. */
const BODY_MS = 1_000

/** How one attempt went: the status, or why there is none. */
export type AttemptResult = { readonly status: number } | { readonly error: string }

/**
 * Posts a signed body as the service does: four headers, no redirect, and nothing kept of the response.
 *
 * @param signature value of `Svc-Signature`
 */
export async function postDelivery(url: URL, body: string, signature: string): Promise<AttemptResult> {
  const bytes = Buffer.from(body)
  const send = url.protocol === 'https:' ? secure : plain
  const outgoing = send(url, {
    method: 'POST',
    agent: false,
    setDefaultHeaders: false,
    signal: AbortSignal.timeout(ATTEMPT_MS),
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': bytes.length,
      Host: url.host,
      'Svc-Signature': signature,
    },
  })
  outgoing.removeHeader('connection')
  try {
    outgoing.end(bytes)
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    await discard(response)
    return { status: response.statusCode ?? 0 }
  } catch (failure) {
    return { error: reasonOf(failure) }
  } finally {
    outgoing.destroy()
  }
}

/** Reads the body to its end or for a moment, so that a receiver that is still writing is not cut off at once. */
async function discard(response: IncomingMessage): Promise<void> {
  response.resume()
  await once(response, 'close', { signal: AbortSignal.timeout(BODY_MS) }).catch(() => undefined)
}

function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure)
  if (failure.name === 'AbortError' || failure.name === 'TimeoutError') return `no answer in ${ATTEMPT_MS / 1000} s`
  return 'code' in failure && typeof failure.code === 'string' ? failure.code : failure.message
}
