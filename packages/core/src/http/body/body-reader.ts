import type { Readable } from 'node:stream'
import { ClientLeft } from '@berth/platform/kit/client-left.ts'
import type { BodyClaim } from './body-budget.ts'
import { BodyBuffer } from './body-buffer.ts'
import { ValueCounter } from './value-counter.ts'

/** Bytes still read from a refused body, so that the client gets to read the refusal. */
const toleratedExcessBytes = 16 * 1_048_576
/** A body that delivers less than this within `patienceMs` is refused. */
const leastProgressBytes = 64 * 1024
/** Bodies up to this size do not count as arriving: they mostly come with their headers. */
const smallBytes = 64 * 1024

/** Levels of values in values. The stack takes some thousands of them when a body is written again. */
export const mostLevels = 1000

/** The result of reading a body. */
export type BodyReading =
  | {
      readonly kind: 'read'
      readonly bytes: Buffer
      /** Whether JavaScript may not hold all its numbers. */
      readonly holdsLongNumbers: boolean
    }
  | { readonly kind: 'too_large' | 'too_many_values' | 'too_deep' | 'not_json' | 'no_room' | 'too_slow' }

/** The limits of one body. */
export interface BodyLimits {
  readonly bytes: number
  readonly values: number
  readonly patienceMs: number
}

/**
 * Reads a body within its limits. If the body breaks a limit, the promise resolves at once and the rest is discarded:
 * closing the connection while the client still writes would lose the response. A client that never stops is
 * disconnected. A body of too many values is not kept, but read to its end or to the first byte that makes it no JSON, which
 * is the graver fault.
 * @param announcedBytes NaN if the client announces no length
 * @param claim the body's share of the budget; absent for a body too small to count before its sender is known
 * @throws ClientLeft if the client breaks off
 */
export function readBody(
  body: Readable,
  announcedBytes: number,
  limits: BodyLimits,
  claim?: BodyClaim,
): Promise<BodyReading> {
  // A stream that ended before this call emits no more events.
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
  /** Returns whether a body of this size may arrive. A body of unknown length counts once it exceeds `smallBytes`. */
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
      if (counter.count <= limits.values) buffer.append(chunk)
      else if (counter.isBroken) refuse('not_json')
      else buffer.take()
    }
  })
  body.once('end', () => {
    if (refused) return
    const { count, deepest, isWhole, holdsLongNumbers } = counter
    if (count > limits.values) refuse(isWhole ? 'too_many_values' : 'not_json')
    else if (deepest > mostLevels) refuse(isWhole ? 'too_deep' : 'not_json')
    else resolve({ kind: 'read', bytes: buffer.take(), holdsLongNumbers })
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

/** Calls `late` once if a body delivers too little within `patienceMs`. A body that has ended is never late. */
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
