import { parentPort } from 'node:worker_threads'
import { type GatewayOperationId, gatewayOperationOf } from '@berth/contract'
import { ApiError } from '../../kit/api-error.ts'
import { type MemberPlace, placesOf } from '../../kit/json-splice.ts'
import { refusal } from '../../kit/refusal.ts'
import { RequestContract, type RequestParts } from '../request/request-contract.ts'
import { type BodyOutline, outlineOf } from './body-outline.ts'
import { parseBytes } from './json-body.ts'

/** A request to validate a body on the worker thread. */
export interface JudgeOrder {
  readonly ticket: number
  readonly operation: GatewayOperationId
  /** Members that the gateway may set in the body; the answer gives their positions. */
  readonly settableMembers: readonly string[]
  /** The body. Its memory is transferred to the thread and back. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly query: string
  readonly headers: RequestParts['headers']
}

/** The worker thread's answer. */
export interface JudgeAnswer {
  readonly ticket: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly found:
    | {
        readonly kind: 'valid'
        readonly outline: BodyOutline
        readonly places: readonly MemberPlace[]
        readonly query: unknown
        readonly headerParams: unknown
      }
    | (Pick<ApiError, 'status' | 'code' | 'fields'> & { readonly kind: 'refused' })
}

const contracts = new Map<GatewayOperationId, RequestContract>()

function contractOf(operation: GatewayOperationId): RequestContract {
  const contract = contracts.get(operation) ?? new RequestContract(gatewayOperationOf(operation))
  contracts.set(operation, contract)
  return contract
}

/** Maximum number of positions. A name may repeat in an object, and the event loop has to set each occurrence. */
const mostPlaces = 100
/**
 * Returns the positions of the members with these names.
 * @throws ApiError 400 for a body that repeats them too often
 */
function settable(bytes: Uint8Array<ArrayBuffer>, names: readonly string[]): readonly MemberPlace[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const places = [
    ...placesOf(text)
      .filter(({ name }) => names.includes(name))
      .take(mostPlaces + 1),
  ]
  const last = places[mostPlaces]
  if (last === undefined) return places
  throw refusal('invalid_request', {
    issues: [{ path: [last.name], message: 'is repeated too often' }],
  })
}

function judge({ operation, settableMembers, bytes, query, headers }: JudgeOrder): JudgeAnswer['found'] {
  const contract = contractOf(operation)
  try {
    const parts = contract.parts({ query, headers, body: parseBytes(bytes), bodyBytes: bytes.length })
    // A valid body is an object.
    const outline = outlineOf(Object(parts.body))
    return {
      kind: 'valid',
      outline,
      places: settable(bytes, settableMembers),
      query: parts.query,
      headerParams: parts.headerParams,
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { status, code, fields } = error
    return { kind: 'refused', status, code, fields }
  }
}

parentPort?.on('message', (order: JudgeOrder) => {
  const { ticket, bytes } = order
  const answer: JudgeAnswer = { ticket, bytes, found: judge(order) }
  parentPort?.postMessage(answer, [bytes.buffer])
})
