import { type ErrorCode, errors } from '@berth/contract'
import { ApiError } from './api-error.ts'

/** Returns a refusal by its code, with the status and the constant delay of the contract. */
export function refusal(
  code: ErrorCode,
  fields: Readonly<Record<string, unknown>> = {},
  retryAfterSeconds?: number,
  headers: Readonly<Record<string, string>> = {},
): ApiError {
  const kind: { status: number; retryAfterSeconds?: number } = errors[code]
  const delay = retryAfterSeconds ?? kind.retryAfterSeconds
  return new ApiError(kind.status, code, {
    fields,
    headers: { ...headers, ...(delay !== undefined && { 'retry-after': String(delay) }) },
  })
}

/** Returns a 400 `invalid_request` for a field that is well-formed but invalid here. */
export function invalidField(path: readonly (string | number)[], message: string): ApiError {
  return refusal('invalid_request', { issues: [{ path, message }] })
}

/** Returns the same answer for a missing resource, one of another Session and one of another tenant. */
export const sessionNotFound = (): ApiError => refusal('cloud_session_not_found')

/** Returns the refusal of a request that needs an attached workspace, with the request that attaches it. */
export const workspaceLapsed = (sessionId: string): ApiError =>
  refusal('cloud_workspace_expired', {
    message: `The workspace has lapsed. PUT /v1/sessions/${sessionId}/workspace attaches it again, without a Run; then repeat this request.`,
  })
