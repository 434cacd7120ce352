import { ErrorBody, type ErrorCode, type ErrorKind, errors } from './error.ts'
import { gatewayErrorBody, gatewayErrorSchemas } from './gateway/gateway-error.ts'
import type { OpenApiHeader, OpenApiResponse, Reference } from './openapi-document.ts'
import type { SchemaComponents } from './openapi-schemas.ts'
import type { Operation, Success } from './operation.ts'
import { commonCodes, errorCodesOf } from './operation-errors.ts'

/** Headers that several responses share. */
export const sharedHeaders: Readonly<Record<string, OpenApiHeader>> = {
  'RateLimit-Policy': {
    description:
      'The rate limit that applies: its name, `q` requests per `w` seconds, and `svc-burst`, the most that may come at once.',
    schema: { type: 'string', examples: ['"svc-cloud";q=600;w=60;svc-burst=120'] },
  },
  RateLimit: {
    description:
      'The state of the rate limit: its name, `r` requests left now, and `t` seconds until it is full again.',
    schema: { type: 'string', examples: ['"svc-cloud";r=119;t=1'] },
  },
  'Retry-After': {
    description: 'Seconds to wait before a retry.',
    schema: { type: 'integer', minimum: 1 },
  },
}

const reference = (name: string): Reference => ({ $ref: `#/components/headers/${name}` })

const rateLimit = { 'RateLimit-Policy': reference('RateLimit-Policy'), RateLimit: reference('RateLimit') }

/** Returns a success response of the document. */
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

/** Returns an operation's error responses by status; each names its codes. */
export function errorResponses(row: Operation, schemas: SchemaComponents): Readonly<Record<string, OpenApiResponse>> {
  const byStatus: ReadonlyMap<number, readonly ErrorCode[]> = Map.groupBy(
    errorCodesOf(row),
    code => errors[code].status,
  )
  const statuses = new Set([...byStatus.keys(), ...Object.keys(row.otherErrors ?? {}).map(Number)])
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .map(status => [
        String(status),
        errorResponse(row, byStatus.get(status) ?? [], schemas, row.otherErrors?.[status]),
      ]),
  )
}

/** Returns the error response common to all operations that share an error format. */
export function defaultResponse(row: Operation, schemas: SchemaComponents): OpenApiResponse {
  return errorResponse(row, commonCodes, schemas)
}

function errorResponse(
  row: Operation,
  codes: readonly ErrorCode[],
  schemas: SchemaComponents,
  other?: NonNullable<Operation['otherErrors']>[number],
): OpenApiResponse {
  const own = schemas.place(row.access === 'gateway' ? gatewayErrorSchemas[row.dialect] : ErrorBody)
  const kinds = codes.map((code): ErrorKind => errors[code])
  const waits = kinds.some(kind => kind.retryAfter === true || kind.retryAfterSeconds !== undefined)
  const metered = row.access !== 'public' && kinds.some(kind => ![401, 503].includes(kind.status))
  return {
    description: [
      ...codes.map(code => `\`${code}\`: ${errors[code].cause}`),
      ...(other === undefined ? [] : [other.description]),
    ].join('\n\n'),
    headers: { ...(waits ? { 'Retry-After': reference('Retry-After') } : {}), ...(metered ? rateLimit : {}) },
    content: {
      'application/json': {
        schema: other === undefined ? own : { anyOf: [own, schemas.place(other.schema)] },
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
