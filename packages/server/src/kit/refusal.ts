import { type ErrorCode, errors } from '@berth/contract'
import { ApiError } from './api-error.ts'

/** A refusal by its code, with the status and the constant delay that the contract gives it (interface 7.2, 7.3). */
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

/** 400 `invalid_request` for a field that is well-formed but means nothing here. */
export function invalidField(path: readonly (string | number)[], message: string): ApiError {
  return refusal('invalid_request', { issues: [{ path, message }] })
}

/** One answer for what is missing, of another Session and of another tenant (completions, Common rules). */
export const sessionNotFound = (): ApiError => refusal('cloud_session_not_found')
