/** Why a model request failed; these are values of a Run's `errorCode`. */
export type ModelFaultCode =
  | 'model_rate_limited'
  | 'model_unavailable'
  | 'model_credential_refused'
  | 'model_response_invalid'
  | 'model_request_refused'
  | 'model_context_exceeded'
  | 'cost_budget_exceeded'
  | 'cost_unknown'

/** A fault, and whether a retry of the same request may succeed. */
export interface ModelFault {
  readonly code: ModelFaultCode
  readonly transient: boolean
  /** Earliest time for a retry, from now. */
  readonly retryAfterMs?: number
  /** The gateway's message; it never contains a credential. */
  readonly detail: string
}

/** The known facts about a failed request. */
export interface Failure {
  /** Absent if no response arrived. */
  readonly status?: number
  /** `error.code` of the gateway's response, or of the last event of a stream. */
  readonly code?: string
  readonly message: string
  readonly retryAfterMs?: number
}

const byCode: Readonly<Record<string, ModelFaultCode>> = {
  cost_budget_exceeded: 'cost_budget_exceeded',
  cost_unknown: 'cost_unknown',
  context_length_exceeded: 'model_context_exceeded',
  upstream_credential_refused: 'model_credential_refused',
  upstream_rate_limited: 'model_rate_limited',
  rate_limit_exceeded: 'model_rate_limited',
}

const tooLong = /context (length|window)|prompt is too long|maximum (context|prompt|input) length|too many tokens/i

/**
 * Classifies a failure. Spent budgets, invalid requests and a refused operator key are permanent. Rate limits, outages
 * and streams that were cut or malformed are transient.
 */
export function faultOf(failure: Failure): ModelFault {
  const code = codeOf(failure)
  const transient = code === 'model_rate_limited' || code === 'model_unavailable' || code === 'model_response_invalid'
  return {
    // A spent quota does not come back within a Run.
    transient: transient && failure.code !== 'insufficient_quota',
    code,
    detail: failure.message,
    ...(failure.retryAfterMs !== undefined && { retryAfterMs: failure.retryAfterMs }),
  }
}

function codeOf({ status, code, message }: Failure): ModelFaultCode {
  const known = code === undefined ? undefined : byCode[code]
  if (known !== undefined) return known
  if (status === undefined) return code === undefined ? 'model_response_invalid' : 'model_unavailable'
  if (status === 429) return 'model_rate_limited'
  if (status >= 500 || status === 408) return 'model_unavailable'
  if (status === 413 || tooLong.test(message)) return 'model_context_exceeded'
  return 'model_request_refused'
}
