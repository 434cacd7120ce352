import type { Readable } from 'node:stream'
import { ClientLeft } from '../../kit/client-left.ts'
import type { BodyClaim } from './body-budget.ts'
import { BodyBuffer } from './body-buffer.ts'
import { ValueCounter } from './value-counter.ts'

/** How much of a refused body is still taken in, so that the client gets to read the refusal. */
const toleratedExcessBytes = 16 * 1_048_576
/** A body that brings less than this in its patience is given up. */
const leastProgressBytes = 64 * 1024
/** A body this small does not count as one that is arriving: it mostly comes with its headers. */
const smallBytes = 64 * 1024

/** What came of reading a body. */
export type BodyReading =
  | {
      readonly kind: 'read'
      readonly bytes: Buffer
      /** Values of its JSON, as {@link ValueCounter} counts them. */
      readonly values: number
    }
  | { readonly kind: 'too_large' | 'too_many_values' | 'no_room' | 'too_slow' }

/** What a body is held to. */
export interface BodyLimits {
  readonly bytes: number
  readonly values: number
  readonly patienceMs: number
}

/**
 * Reads a body within its limits. One that breaks a limit is answered at once and its rest thrown away: closing the
 * connection on a client that still writes would lose the answer. A client that never stops is cut off.
 * @param announcedBytes NaN if the client does not say
 * @param claim what the body takes of the budget; absent for one that is too small to count before its sender is known
 * @throws when the client breaks off
 */
export function readBody(
  body: Readable,
  announcedBytes: number,
  limits: BodyLimits,
  claim?: BodyClaim,
): Promise<BodyReading> {
  // What had ended before anyone listens tells nobody any more.
  if (body.destroyed && !body.readableEnded) return Promise.reject(new ClientLeft('the client broke off its body'))
  const { promise, resolve, reject } = Promise.withResolvers<BodyReading>()
  const counter = new ValueCounter()
  const buffer = new BodyBuffer(announcedBytes <= limits.bytes ? announcedBytes : limits.bytes)
  let received = 0
  let refused = false
  let arriving = false
  const refuse = (kind: Exclude<BodyReading['kind'], 'read'>) => {
    refused = true
    buffer.take()
    resolve({ kind })
  }
  /** Whether there is room for a body of this size to arrive. One of a length that is not told counts once it is large. */
  const mayArrive = (bytes: number) => {
    if (arriving || !(bytes > smallBytes)) return true
    arriving = true
    return claim?.arrive() !== false
  }
  const patience = watchArrival(body, limits.patienceMs, () => refuse('too_slow'))
  if (announcedBytes > limits.bytes) refuse('too_large')
  else if (!mayArrive(announcedBytes)) refuse('no_room')
  body.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (received > limits.bytes + toleratedExcessBytes) body.destroy()
    else if (refused) return
    else if (received > limits.bytes) refuse('too_large')
    else if (!mayArrive(received) || claim?.grow(chunk.length) === false) refuse('no_room')
    else {
      counter.take(chunk)
      if (counter.count > limits.values) refuse('too_many_values')
      else buffer.append(chunk)
    }
  })
  body.once('end', () => {
    if (!refused) resolve({ kind: 'read', bytes: buffer.take(), values: counter.count })
  })
  body.once('error', reject)
  body.once('close', () => {
    if (!body.readableEnded) reject(new ClientLeft('the client broke off its body'))
  })
  return promise.finally(() => {
    patience[Symbol.dispose]()
    claim?.arrived()
  })
}

/** Calls `late` once if a body brings too little in a stretch of time. A body that has ended is never late. */
export function watchArrival(body: Readable, patienceMs: number, late: () => void): Disposable {
  let fresh = 0
  const count = (chunk: Buffer) => {
    fresh += chunk.length
  }
  const timer = setInterval(() => {
    if (fresh >= leastProgressBytes) fresh = 0
    else {
      stop()
      late()
    }
  }, patienceMs)
  const stop = () => {
    clearInterval(timer)
    body.off('data', count)
  }
  body.on('data', count)
  return { [Symbol.dispose]: stop }
}
