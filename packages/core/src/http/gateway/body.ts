import type { FastifyRequest } from 'fastify'
import type { BodyReading } from '../body/body-reader.ts'
import { keepNumbers } from '../body/exact-numbers.ts'
import { parseJson } from '../body/json-body.ts'
import type { RequestContract } from '../request/request-contract.ts'
import { queryOf } from '../request/request-path.ts'

/** A gateway request's parts besides its path, validated by the contract. They hold no other parameters. */
export interface GatewayBody {
  readonly body: Readonly<Record<string, unknown>>
  /** The same, for JSON.stringify alone: it keeps numbers that JavaScript cannot hold. */
  readonly exactBody: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, unknown>>
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
    body: membersOf(body),
    exactBody: membersOf(reading?.kind === 'read' ? keepNumbers(body, reading.bytes, reading) : body),
    query: membersOf(query),
    headers: membersOf(headerParams),
  }
}

const membersOf = (value: unknown) => (typeof value === 'object' && value !== null ? { ...value } : {})
