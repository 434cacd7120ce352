import type { ErrorCode } from '@berth/contract'
import { ApiError } from './api-error.ts'

/** The codes with which a call of a provider can fail. */
export type UpstreamCode = Extract<
  ErrorCode,
  `upstream_${string}` | 'model_not_found' | 'invalid_request' | 'request_entity_too_large' | 'service_unavailable'
>

/** A provider refused a request, failed, or could not be reached. `message` is ours; it may quote the provider. */
export class UpstreamError extends ApiError {
  override readonly name = 'UpstreamError'
  declare readonly code: UpstreamCode
  /** The field that the provider refused. */
  readonly param: string | null
  readonly retryAfterSeconds: number | undefined

  constructor(refused: {
    /** Status of the response to the client. */
    readonly status: number
    readonly code: UpstreamCode
    readonly message: string
    readonly param?: string | null
    readonly retryAfterSeconds?: number | undefined
    readonly cause?: unknown
  }) {
    const { status, code, message, param = null, retryAfterSeconds, cause } = refused
    const headers = {
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      // Clients of OpenAI and Anthropic retry a 502, but a key stays refused until an operator replaces it.
      ...(code === 'upstream_credential_refused' && { 'x-should-retry': 'false' }),
    }
    super(status, code, { fields: { message, param }, headers, cause })
    this.message = message
    this.param = param
    this.retryAfterSeconds = retryAfterSeconds
  }
}
