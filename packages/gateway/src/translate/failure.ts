import {
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider'
import type { TranslatedWire } from '@berth/core/accounting/upstream.ts'
import { upstreamCode, upstreamError } from '@berth/core/accounting/upstream-status.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { isObject } from '@berth/platform/kit/json.ts'
import { retryAfterMs } from '@berth/platform/kit/retry-after.ts'
import { type UpstreamCode, UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { refuse } from '../formats/refuse.ts'
import { upstreamReason } from '../providers/upstream-reason.ts'

/**
 * Converts a failure of a provider or its package to the gateway's error.
 * @param clock for dates in the headers of an answer; absent: the failure came in the middle of one, and has none
 */
export function toFailure(
  error: unknown,
  { wire = 'responses', clock }: { readonly wire?: TranslatedWire; readonly clock?: Clock } = {},
): UpstreamError {
  const input = wire === 'chat' ? 'messages' : 'input'
  if (error instanceof UpstreamError) return error
  if (UnsupportedFunctionalityError.isInstance(error)) {
    return refuse(input, `The model does not support ${error.functionality}.`, error)
  }
  if (InvalidPromptError.isInstance(error) || InvalidArgumentError.isInstance(error)) {
    return refuse(input, upstreamReason(error.message), error)
  }
  if (isNoAnswer(error)) return upstreamError('upstream_invalid_response', { cause: error })
  const { status, message, body, retryAfterSeconds } = describe(error, clock)
  if (status !== undefined) {
    const code = upstreamCode(status, body)
    // A message about the gateway's own credential is for the operator only.
    const detail = code !== 'upstream_credential_refused' && { reason: upstreamReason(message) }
    return upstreamError(code, { ...detail, retryAfterSeconds, cause: error })
  }
  return connectionFailure(error) ?? upstreamError('upstream_failed', { reason: upstreamReason(message), cause: error })
}

const noAnswers = [EmptyResponseBodyError, InvalidResponseDataError, JSONParseError, TypeValidationError]

function isNoAnswer(error: unknown): boolean {
  if (noAnswers.some(kind => kind.isInstance(error))) return true
  return APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode < 400
}

const connectionCodes: ReadonlyMap<string, UpstreamCode> = new Map(
  Object.entries({
    ECONNRESET: 'upstream_cut',
    EPIPE: 'upstream_cut',
    UND_ERR_BODY_TIMEOUT: 'upstream_timeout',
    UND_ERR_HEADERS_TIMEOUT: 'upstream_timeout',
    UND_ERR_SOCKET: 'upstream_cut',
  }),
)

/** Finds the connection error inside the errors that the packages and `fetch` wrap around it. */
function connectionFailure(error: unknown): UpstreamError | undefined {
  const code = (kind: UpstreamCode) => upstreamError(kind, { cause: error })
  let wrapped = error
  for (let depth = 0; depth < 5 && wrapped instanceof Error; depth++) {
    if (wrapped instanceof UpstreamError) return wrapped
    if (wrapped.name === 'TimeoutError') return code('upstream_timeout')
    const known = 'code' in wrapped ? connectionCodes.get(String(wrapped.code)) : undefined
    if (known !== undefined) return code(known)
    wrapped = wrapped.cause
  }
  if (APICallError.isInstance(error)) return code('upstream_unreachable')
  // `terminated` is the only message of a body whose connection broke.
  return error instanceof TypeError || isAbort(error) ? code('upstream_cut') : undefined
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError'

interface Description {
  readonly status: number | undefined
  readonly message: string
  /** The provider's complete response. */
  readonly body?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** Error types that Anthropic and OpenAI name in a stream, where no status exists. */
const statuses: ReadonlyMap<string, number> = new Map(
  Object.entries({
    authentication_error: 401,
    billing_error: 402,
    invalid_api_key: 401,
    invalid_request_error: 400,
    not_found_error: 404,
    overloaded_error: 529,
    permission_error: 403,
    rate_limit_error: 429,
    rate_limit_exceeded: 429,
    request_too_large: 413,
    timeout_error: 504,
  }),
)

function describe(error: unknown, clock: Clock | undefined): Description {
  if (APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode >= 400) {
    const { statusCode: status, message, responseBody: body, responseHeaders } = error
    const pauseMs = clock && retryAfterMs(responseHeaders ?? {}, clock)
    const retryAfterSeconds = pauseMs === undefined ? undefined : Math.ceil(pauseMs / 1000)
    return { status, message, body, retryAfterSeconds }
  }
  if (typeof error === 'string') return { status: undefined, message: error }
  if (!isObject(error)) return { status: undefined, message: '' }
  const { message, type, code, statusCode, status } = error
  const found = [statusCode, status, code].find(value => typeof value === 'number' && value >= 400 && value < 600)
  return {
    status: typeof found === 'number' ? found : (statuses.get(String(type)) ?? statuses.get(String(code))),
    message: typeof message === 'string' ? message : '',
    body: JSON.stringify(error),
  }
}
