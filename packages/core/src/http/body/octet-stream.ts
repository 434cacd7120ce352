import type { IncomingMessage } from 'node:http'
import { ClientLeft } from '@berth/platform/kit/client-left.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { BodyClaim } from './body-budget.ts'

/** Bytes beyond the bound that are still read, so that the client gets to read the refusal. */
const toleratedExcessBytes = 16 * 1_048_576

/**
 * Yields a body that its handler passes on, so memory holds one chunk of it. The rest of a body that is not read to its
 * end is discarded up to a bound: closing the connection while the client still writes would lose the response.
 * @param watch calls back once if the body is too slow
 * @throws ApiError 413 `request_entity_too_large`, 408 `request_timeout`, 503 `service_unavailable` if the caller
 * already sends as many bodies as it may
 * @throws ClientLeft if the client breaks off
 */
export async function* readOctets(
  body: IncomingMessage,
  mostBytes: number,
  claim: BodyClaim,
  watch: (late: () => void) => Disposable,
): AsyncGenerator<Buffer> {
  let wake = Promise.withResolvers<void>()
  let late = false
  let held = false
  let patience: Disposable | undefined
  let received = 0
  const notify = () => wake.resolve()
  const moves = ['readable', 'end', 'error', 'close']
  for (const move of moves) body.on(move, notify)
  try {
    if (Number(body.headers['content-length'] ?? 0) > mostBytes) throw refusal('request_entity_too_large')
    if (!claim.arrive()) throw refusal('service_unavailable')
    const onLate = () => {
      // While the handler holds a chunk, nothing more is read: the client is not the slow one.
      if (held) patience = watch(onLate)
      else late = true
      notify()
    }
    patience = watch(onLate)
    for (;;) {
      wake = Promise.withResolvers()
      const chunk: Buffer | null = body.read()
      if (chunk !== null) {
        received += chunk.length
        if (received > mostBytes) throw refusal('request_entity_too_large')
        held = true
        yield chunk
        held = false
        continue
      }
      if (body.readableEnded) return
      if (body.destroyed) throw new ClientLeft('the client broke off its body')
      // The rest may never arrive, so the connection cannot be reused.
      if (late) throw refusal('request_timeout', {}, undefined, { connection: 'close' })
      await wake.promise
    }
  } finally {
    patience?.[Symbol.dispose]()
    claim.arrived()
    for (const move of moves) body.off(move, notify)
    if (!body.readableEnded) discard(body, mostBytes + toleratedExcessBytes - received)
  }
}

function discard(body: IncomingMessage, toleratedBytes: number): void {
  let dropped = 0
  // A client that breaks off now has nothing to be told.
  body.on('error', () => undefined)
  body.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped > toleratedBytes) body.destroy()
  })
  body.resume()
}
