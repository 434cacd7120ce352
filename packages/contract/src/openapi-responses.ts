import { ErrorBody, type ErrorCode, type ErrorKind, errors } from './error.ts'
import { gatewayErrorBody, gatewayErrorSchemas } from './gateway/gateway-error.ts'
import type { OpenApiHeader, OpenApiResponse, Reference } from './openapi-document.ts'
import type { SchemaComponents } from './openapi-schemas.ts'
import type { Operation, Success } from './operation.ts'
import { commonCodes, errorCodesOf } from './operation-errors.ts'

/** Headers that several responses carry (interface 7.2, 8.1). */
export const sharedHeaders: Readonly<Record<string, OpenApiHeader>> = {
  'RateLimit-Policy': {
    description: 'Name of the bucket, `q` sustained quota, `w` window in seconds, `svc-burst` capacity.',
    schema: { type: 'string', examples: ['"svc-cloud";q=600;w=60;svc-burst=120'] },
  },
  RateLimit: {
    description: 'Name of the bucket, `r` tokens left, `t` seconds until it is full.',
    schema: { type: 'string', examples: ['"svc-cloud";r=119;t=1'] },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1 },
  },
}

const reference = (name: string): Reference => ({ $ref: `#/components/headers/${name}` })

const rateLimit = { 'RateLimit-Policy': reference('RateLimit-Policy'), RateLimit: reference('RateLimit') }

/** A success as the document states it. */
export function successResponse(row: Operation, success: Success, schemas: SchemaComponents): OpenApiResponse {
  const own = Object.entries(success.headers ?? {}).map(
    ([name, description]) => [name, { description, schema: { type: 'string' } }] as const,
  )
  const headers = { ...(row.access === 'public' ? {} : rateLimit), ...Object.fromEntries(own) }
  const mediaTypes = success.mediaTypes ?? (success.schema === undefined ? [] : ['application/json'])
  const schema = success.schema === undefined ? { type: 'string' } : schemas.place(success.schema)
  const content = Object.fromEntries(
    mediaTypes.map(mediaType => [
      mediaType,
      { schema: success.schema === undefined && mediaType === 'application/json' ? { type: 'object' } : schema },
    ]),
  )
  return { description: success.description, headers, ...(mediaTypes.length === 0 ? {} : { content }) }
}

/** The refusals of a row by status, each naming its codes (interface 7.3). */
export function errorResponses(row: Operation, schemas: SchemaComponents): Readonly<Record<string, OpenApiResponse>> {
  const byStatus = Map.groupBy(errorCodesOf(row), code => errors[code].status)
  const sorted = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(sorted.map(([status, codes]) => [String(status), errorResponse(row, codes, schemas)]))
}

/** What any operation may answer before it is asked, stated once for all that share a form. */
export function defaultResponse(row: Operation, schemas: SchemaComponents): OpenApiResponse {
  return errorResponse(row, commonCodes, schemas)
}

function errorResponse(row: Operation, codes: readonly ErrorCode[], schemas: SchemaComponents): OpenApiResponse {
  const kinds = codes.map((code): ErrorKind => errors[code])
  const waits = kinds.some(kind => kind.retryAfter === true || kind.retryAfterSeconds !== undefined)
  const metered = row.access !== 'public' && kinds.some(kind => ![401, 503].includes(kind.status))
  return {
    description: codes.map(code => `\`${code}\`: ${errors[code].cause}`).join('\n\n'),
    headers: { ...(waits ? { 'Retry-After': reference('Retry-After') } : {}), ...(metered ? rateLimit : {}) },
    content: {
      'application/json': {
        schema: schemas.place(row.access === 'gateway' ? gatewayErrorSchemas[row.dialect] : ErrorBody),
        examples: Object.fromEntries(
          codes.map(code => [code, { summary: errors[code].cause, value: exampleOf(row, code) }]),
        ),
      },
    },
  }
}

function exampleOf(row: Operation, code: ErrorCode): Readonly<Record<string, unknown>> {
  if (row.access !== 'gateway') return { error: code, ...exampleFields[code] }
  return gatewayErrorBody(row.dialect, { code, message: errors[code].cause })
}

const exampleFields: Partial<Record<ErrorCode, Readonly<Record<string, unknown>>>> = {
  invalid_request: { issues: [{ path: ['title'], message: 'must not be longer than 160 characters' }] },
  invalid_path_parameter: { parameter: 'sessionId' },
  insufficient_scope: { requiredScope: 'svc.cloud.sessions:read' },
  unsupported_media_type: { mediaType: 'text/plain' },
  cloud_rate_limit_exceeded: { retryAfterSeconds: 1 },
}
