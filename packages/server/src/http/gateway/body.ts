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

/** What a gateway's request asks beside its path, as the contract has it: no other parameter is there. */
export interface GatewayBody {
  /** The body as it came. */
  readonly bytes: Buffer
  /** Where members stand in a large body that the gateway may set. */
  readonly places?: readonly MemberPlace[]
  readonly body: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
}

/** As much of a body as Node reads in by itself, whether or not anybody asks for it. */
const aheadBytes = 64 * 1024

/**
 * Begins to read a small body, and judges it, while the guard still judges its sender: the guard's statement takes longer
 * than both. What was found is told when it is asked for, which is after the guard and every check that comes before the
 * body's. A large body, and one of a length that is not told, waits.
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
  // Whoever is refused before its body is asked for may break it off.
  ahead.catch(() => {})
  return ahead
}

/** A larger body, or one of more values, is judged on a thread of its own. */
const largeBytes = 1024 ** 2
const manyValues = 20_000

/** Whether judging a body takes longer than the event loop can be kept from others. */
export const isLarge = (reading: BodyReading): boolean =>
  reading.kind === 'read' && (reading.bytes.length > largeBytes || reading.values > manyValues)

/** {@link judgeBody} for a large body, on a thread of its own. @throws ApiError 400 */
export async function judgeLargeBody(
  request: FastifyRequest,
  reading: BodyReading,
  { operation, settableMembers }: Pick<JudgeOrder, 'operation' | 'settableMembers'>,
  judge: BodyJudge,
): Promise<GatewayBody> {
  const order = { operation, settableMembers, query: queryOf(request.url), headers: { ...request.headers } }
  const found = await judge.judge(order, wholeBody(reading))
  // To take over the thread's answer is work enough for one turn of the event loop.
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

/** @throws ApiError 400, 408, 413, 503 */
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

/** Nothing is read ahead for a request that the guard refuses without asking anybody. */
const namesCredential = ({ headers }: FastifyRequest): boolean =>
  ['authorization', ...Object.values(keyHeaders)].some(name => name !== null && headers[name] !== undefined)

/** Does the work now, and tells what came of it later. */
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
