import { setImmediate as nextTurn } from 'node:timers/promises'
import { keyHeaders } from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import type { MemberPlace } from '../../kit/json-splice.ts'
import type { BodyJudge } from '../body/body-judge.ts'
import { bodyOf } from '../body/body-outline.ts'
import { type BodyLimits, type BodyReading, readBody } from '../body/body-reader.ts'
import type { JudgeOrder } from '../body/body-worker.ts'
import { parseBytes, parseJson, wholeBody } from '../body/json-body.ts'
import type { RequestContract } from '../request/request-contract.ts'
import { queryOf } from '../request/request-path.ts'

/** A gateway request's parts besides its path, validated by the contract. They hold no other parameters. */
export interface GatewayBody {
  /** The body as received. */
  readonly bytes: Buffer
  /** Positions of the members that the gateway may set in a large body. */
  readonly places?: readonly MemberPlace[]
  readonly body: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
}

/** The bytes of a body that Node reads on its own, even if nobody asks for them. */
const aheadBytes = 64 * 1024

/**
 * Reads and validates a small body while the guard checks its sender: the guard's statement takes longer than both. The
 * caller asks for the result only after the guard and every check that precedes the body's. Large bodies, and bodies of
 * unknown length, are not read ahead.
 */
export function readAhead(
  request: FastifyRequest,
  limits: BodyLimits,
  judge: (reading: BodyReading) => GatewayBody,
): Promise<() => GatewayBody> | null {
  const length = Number(request.headers['content-length'] ?? Number.NaN)
  if (!(length <= aheadBytes) || !namesCredential(request)) return null
  const ahead = readBody(request.raw, length, { ...limits, bytes: aheadBytes }).then(reading =>
    settled(() => judge(reading)),
  )
  // The client may break off a body whose request was refused before anyone awaits it.
  ahead.catch(() => {})
  return ahead
}

/** Bodies with more bytes or values than these are validated on a separate thread. */
const largeBytes = 1024 ** 2
const manyValues = 20_000

/** Returns whether validating a body would block the event loop for too long. */
export const isLarge = (reading: BodyReading): boolean =>
  reading.kind === 'read' && (reading.bytes.length > largeBytes || reading.values > manyValues)

/**
 * Validates a large body like {@link judgeBody}, on a separate thread.
 * @throws ApiError 400
 */
export async function judgeLargeBody(
  request: FastifyRequest,
  reading: BodyReading,
  { operation, settableMembers }: Pick<JudgeOrder, 'operation' | 'settableMembers'>,
  judge: BodyJudge,
): Promise<GatewayBody> {
  const order = { operation, settableMembers, query: queryOf(request.url), headers: { ...request.headers } }
  const found = await judge.judge(order, wholeBody(reading))
  // Taking over the thread's answer is enough work for one turn of the event loop.
  await nextTurn()
  const { outline, places, query, headerParams, bytes } = found
  return {
    bytes,
    places,
    body: bodyOf(outline, () => membersOf(parseBytes(bytes))),
    query: membersOf(query),
    headers: membersOf(headerParams),
  }
}

/**
 * Validates a gateway request.
 * @throws ApiError 400, 408, 413, 503
 */
export function judgeBody(
  request: FastifyRequest,
  reading: BodyReading | undefined,
  contract: RequestContract,
  takesBody: boolean,
): GatewayBody {
  const sent = takesBody ? parseJson(reading, true) : undefined
  const { body, query, headerParams } = contract.parts({
    query: queryOf(request.url),
    headers: request.headers,
    body: sent,
    bodyBytes: reading?.kind === 'read' ? reading.bytes.length : 0,
  })
  return {
    bytes: reading?.kind === 'read' ? reading.bytes : Buffer.alloc(0),
    body: membersOf(body),
    query: membersOf(query),
    headers: membersOf(headerParams),
  }
}

const membersOf = (value: unknown) => (typeof value === 'object' && value !== null ? { ...value } : {})

/**
 * Returns whether a request names a credential. Without one the guard refuses it at once, and nothing is read ahead.
 */
const namesCredential = ({ headers }: FastifyRequest): boolean =>
  ['authorization', ...Object.values(keyHeaders)].some(name => name !== null && headers[name] !== undefined)

/** Does the work now and returns a function that delivers its result or error later. */
function settled<Value>(work: () => Value): () => Value {
  try {
    const value = work()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}
