import { errors } from '@berth/contract'
import { type UpstreamCode, UpstreamError } from '@berth/platform/kit/upstream-error.ts'

/**
 * Maps a provider's status to a code. The provider's key and limits belong to the operator, so 401 and 403 do not pass
 * through.
 */
const codes: Readonly<Record<number, UpstreamCode>> = {
  400: 'upstream_request_refused',
  401: 'upstream_credential_refused',
  402: 'upstream_credential_refused',
  403: 'upstream_credential_refused',
  404: 'model_not_found',
  408: 'upstream_timeout',
  409: 'upstream_failed',
  413: 'request_entity_too_large',
  422: 'upstream_request_refused',
  429: 'upstream_rate_limited',
  503: 'upstream_overloaded',
  504: 'upstream_timeout',
  529: 'upstream_overloaded',
}

/**
 * Returns the code of a provider's error status.
 * @param body the answer's body: Google answers a request with a wrong key as a bad request
 */
export function upstreamCode(status: number, body = ''): UpstreamCode {
  if (body.includes('"API_KEY_INVALID"')) return 'upstream_credential_refused'
  return codes[status] ?? (status >= 400 && status < 500 ? 'upstream_request_refused' : 'upstream_failed')
}

/** Returns whether a retry may succeed a moment later. A request that timed out would take as long again. */
export function mayRetry(code: UpstreamCode): boolean {
  return [
    'upstream_rate_limited',
    'upstream_overloaded',
    'upstream_failed',
    'upstream_unreachable',
    'upstream_cut',
  ].includes(code)
}

/** Returns whether another provider may take the request; not if the request itself is wrong. */
export function mayFallBack(code: UpstreamCode): boolean {
  return !['upstream_request_refused', 'invalid_request', 'request_entity_too_large', 'service_unavailable'].includes(
    code,
  )
}

/** Returns whether a request that ended with this code may have incurred an unreported cost. */
export function mayHaveCost(code: UpstreamCode): boolean {
  return ['upstream_timeout', 'upstream_cut', 'upstream_invalid_response', 'service_unavailable'].includes(code)
}

const sentences: Readonly<Record<UpstreamCode, string>> = {
  upstream_request_refused: 'The provider refused the request',
  upstream_credential_refused:
    "The provider refused the gateway's credential; its operator must correct the configuration",
  upstream_rate_limited: "The provider's rate limit is reached",
  upstream_overloaded: 'The provider is overloaded',
  upstream_failed: 'The provider failed',
  upstream_timeout: 'The provider did not answer in time',
  upstream_unreachable: 'The provider cannot be reached',
  upstream_invalid_response: 'The provider sent an invalid answer',
  upstream_cut: 'The provider broke off its answer',
  model_not_found: 'The provider does not serve this model',
  invalid_request: 'The request is not valid',
  request_entity_too_large: 'The request is larger than the provider takes',
  service_unavailable: 'The gateway is stopping',
}

/** Returns a provider's failure by its code, with the contract's status for it. */
export function upstreamError(
  code: UpstreamCode,
  detail: {
    /** The provider's message. It never holds a credential, see `upstreamReason`. */
    readonly reason?: string | undefined
    readonly param?: string | null
    readonly retryAfterSeconds?: number | undefined
    readonly cause?: unknown
  } = {},
): UpstreamError {
  const { reason, ...rest } = detail
  const message = reason === undefined || reason === '' ? `${sentences[code]}.` : `${sentences[code]}: ${reason}`
  return new UpstreamError({ status: errors[code].status, code, message, ...rest })
}
