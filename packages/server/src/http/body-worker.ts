import { parentPort } from 'node:worker_threads'
import { type GatewayOperationId, gatewayOperationOf } from '@berth/contract'
import { ApiError } from '../api-error.ts'
import { type BodyOutline, outlineOf } from './body-outline.ts'
import { parseBytes } from './json-body.ts'
import { RequestContract, type RequestParts } from './request-contract.ts'

/** A request that is judged on the worker thread. */
export interface JudgeOrder {
  readonly ticket: number
  readonly operation: GatewayOperationId
  /** The body, whose memory goes along and comes back. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly query: string
  readonly headers: RequestParts['headers']
}

/** What the worker thread found. */
export interface JudgeAnswer {
  readonly ticket: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly found:
    | { readonly kind: 'valid'; readonly outline: BodyOutline; readonly query: unknown; readonly headerParams: unknown }
    | (Pick<ApiError, 'status' | 'code' | 'fields'> & { readonly kind: 'refused' })
}

const contracts = new Map<GatewayOperationId, RequestContract>()

function contractOf(operation: GatewayOperationId): RequestContract {
  const contract = contracts.get(operation) ?? new RequestContract(gatewayOperationOf(operation))
  contracts.set(operation, contract)
  return contract
}

function judge({ operation, bytes, query, headers }: JudgeOrder): JudgeAnswer['found'] {
  const contract = contractOf(operation)
  try {
    const parts = contract.parts({ query, headers, body: parseBytes(bytes), bodyBytes: bytes.length })
    // A body that the contract has judged is an object.
    const outline = outlineOf(Object(parts.body))
    return { kind: 'valid', outline, query: parts.query, headerParams: parts.headerParams }
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
