import { type TObject, Type } from 'typebox'
import { type ErrorCode, errors, Issue } from '../error.ts'
import { nullable, open, openString } from '../scalar.ts'
import type { Dialect } from './dialect.ts'

const message = Type.String({ description: 'Prose for people; not part of the contract.' })

/** Fields that every dialect's error body has besides its own. */
const ours = {
  param: nullable(Type.String({ description: 'The invalid field, if there is one.' })),
  code: Type.String({ description: 'Machine-readable code. The set is open: ignore codes you do not know.' }),
  issues: Type.Optional(Type.Array(Issue, { description: 'The invalid fields; with `invalid_request`.' })),
}

/** The error body on OpenAI's paths: OpenAI's own, with the machine-readable code in `code`. */
export const GatewayErrorBody = Type.Object(
  {
    error: Type.Object(
      {
        message,
        type: openString([
          'invalid_request_error',
          'authentication_error',
          'permission_error',
          'rate_limit_error',
          'insufficient_quota',
          'server_error',
        ]),
        ...ours,
      },
      open,
    ),
  },
  { title: 'GatewayError', description: "An error of the AI gateway, in OpenAI's format.", ...open },
)

const AnthropicErrorBody = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object(
      {
        type: openString([
          'invalid_request_error',
          'authentication_error',
          'billing_error',
          'permission_error',
          'not_found_error',
          'request_too_large',
          'rate_limit_error',
          'api_error',
          'timeout_error',
          'overloaded_error',
        ]),
        message,
        ...ours,
      },
      open,
    ),
  },
  { title: 'AnthropicError', description: "An error of the AI gateway, in Anthropic's format.", ...open },
)

const GoogleErrorBody = Type.Object(
  {
    error: Type.Object(
      {
        code: Type.Integer({ description: 'The HTTP status.' }),
        message,
        status: openString([
          'INVALID_ARGUMENT',
          'UNAUTHENTICATED',
          'FAILED_PRECONDITION',
          'PERMISSION_DENIED',
          'NOT_FOUND',
          'RESOURCE_EXHAUSTED',
          'INTERNAL',
          'UNAVAILABLE',
          'DEADLINE_EXCEEDED',
        ]),
        details: Type.Array(
          Type.Object(
            {
              '@type': Type.String(),
              reason: Type.Optional(Type.String({ description: 'The machine-readable code.' })),
            },
            open,
          ),
          { description: 'The first item is an ErrorInfo, whose `reason` is the machine-readable code.' },
        ),
      },
      open,
    ),
  },
  { title: 'GoogleError', description: "An error of the AI gateway, in Google's format.", ...open },
)

/** The schema of an error body, by dialect. */
export const gatewayErrorSchemas: Readonly<Record<Dialect, TObject>> = {
  openai: GatewayErrorBody,
  anthropic: AnthropicErrorBody,
  google: GoogleErrorBody,
}

/** An error of the gateway, independent of its format. */
export interface GatewayRefusal {
  readonly code: ErrorCode
  readonly message: string
  readonly param?: string | null
  /** Further fields that the code carries, such as `issues`. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Returns the error body in the format of the dialect. */
export function gatewayErrorBody(dialect: Dialect, refusal: GatewayRefusal): Readonly<Record<string, unknown>> {
  const { code, message, param = null, more = {} } = refusal
  switch (dialect) {
    case 'openai':
      return { error: { message, type: openaiType(code), param, code, ...more } }
    case 'anthropic':
      return { type: 'error', error: { type: anthropicType(code), message, param, code, ...more } }
    case 'google':
      return {
        error: { code: errors[code].status, message, status: googleStatus(code), details: detailsOf(refusal) },
      }
  }
}

/** Returns OpenAI's class of a code, by which its clients tell errors apart. */
function openaiType(code: ErrorCode): string {
  const { status } = errors[code]
  if (status === 402 || code === 'insufficient_quota') return 'insufficient_quota'
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}

const anthropicTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
}

function anthropicType(code: ErrorCode): string {
  const { status } = errors[code]
  if (code === 'upstream_overloaded') return 'overloaded_error'
  return anthropicTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
}

const googleStatuses: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

function googleStatus(code: ErrorCode): string {
  const { status } = errors[code]
  return googleStatuses[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL')
}

/** Returns Google's `details`; its metadata holds strings only, so other values become JSON text. */
function detailsOf({ code, param = null, more = {} }: GatewayRefusal) {
  const fields = Object.entries({ ...(param !== null && { param }), ...more })
  const metadata = Object.fromEntries(
    fields.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'svc-ai', metadata }]
}
