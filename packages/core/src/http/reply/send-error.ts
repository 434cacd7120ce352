import { type Dialect, type ErrorCode, errors } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { isClientLeft } from '@berth/platform/kit/client-left.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { BlobsUnavailable, StorageFull } from '@berth/platform/storage/blobs/blobs.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { gatewayError } from './gateway-error.ts'

/** Codes of the framework's own refusals, by status. */
const frameworkCodes: Readonly<Record<number, ErrorCode>> = {
  400: 'malformed_request',
  404: 'unknown_endpoint',
  408: 'request_timeout',
  413: 'request_entity_too_large',
  414: 'uri_too_long',
  431: 'request_header_fields_too_large',
  503: 'service_unavailable',
}

const isFrameworkError = (error: unknown): error is FastifyError =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_ERR_')

function asRefusal(error: unknown, request: FastifyRequest): ApiError | null {
  if (error instanceof ApiError) return error
  if (error instanceof DatabaseUnavailable || error instanceof BlobsUnavailable || error instanceof StorageFull) {
    return new ApiError(errors.service_unavailable.status, 'service_unavailable', { cause: error })
  }
  if (!isFrameworkError(error)) return null
  if (error.statusCode === 415) {
    const mediaType = request.headers['content-type']
    return refusal('unsupported_media_type', mediaType === undefined ? {} : { mediaType })
  }
  const code = frameworkCodes[error.statusCode ?? 500]
  return code === undefined ? null : refusal(code)
}

/** Returns whether an error is the one that Node's functions throw for an aborted signal. */
const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

/** Returns the code's constant `retry-after`, for refusals created without it. */
function delayOf(code: string): Readonly<Record<string, string>> {
  const kind = Object.entries(errors).find(([name]) => name === code)?.[1]
  return kind !== undefined && 'retryAfterSeconds' in kind ? { 'retry-after': String(kind.retryAfterSeconds) } : {}
}

/**
 * Turns an error into a response; no other code does. An unnamed error is logged with its cause, and the client learns
 * nothing about it.
 * @param form the error format; a `malformed_request` always has the API's, because the request was not read far enough
 * to have another
 */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  form: 'api' | Dialect = 'api',
): FastifyReply {
  const named = asRefusal(error, request)
  const brokenOff = request.raw.destroyed && !request.raw.complete
  if (brokenOff || (reply.raw.destroyed && (named !== null || isClientLeft(error) || isAbort(error)))) {
    request.log.info({ err: error }, 'the client left before the response')
  } else if (named === null) {
    request.log.error({ err: error }, 'a request failed with an unexpected error')
  } else if (named.status >= 500) {
    request.log.warn({ err: named }, 'a request was refused because of a fault in the service')
  }
  const { status, code, fields, headers } = named ?? refusal('internal_error')
  return reply
    .code(status)
    .headers({ ...delayOf(code), ...headers })
    .type('application/json; charset=utf-8')
    .send(
      JSON.stringify(
        form === 'api' || code === 'malformed_request' ? { error: code, ...fields } : gatewayError(form, code, fields),
      ),
    )
}
