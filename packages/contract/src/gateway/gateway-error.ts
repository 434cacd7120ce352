import { type TObject, Type } from 'typebox'
import { type ErrorCode, errors, Issue } from '../error.ts'
import { nullable, open, openString } from '../scalar.ts'
import type { Dialect } from './dialect.ts'

const message = Type.String({ description: 'Prose for people; not part of the contract.' })

/** What each dialect's clients read beside it. */
const ours = {
  param: nullable(Type.String({ description: 'The field that was refused.' })),
  code: Type.String({ description: 'A machine code. The set is open.' }),
  issues: Type.Optional(Type.Array(Issue, { description: 'With `invalid_request`.' })),
}

/** The body of every refusal on OpenAI's paths: OpenAI's, with the machine code in `code` (completions, AI gateway). */
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
  { title: 'GatewayError', description: 'A refusal by the AI gateway.', ...open },
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
  { title: 'AnthropicError', description: "A refusal by the AI gateway in Anthropic's form.", ...open },
)

const GoogleErrorBody = Type.Object(
  {
    error: Type.Object(
      {
        code: Type.Integer({ description: "The answer's status." }),
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
            { '@type': Type.String(), reason: Type.Optional(Type.String({ description: 'The machine code.' })) },
            open,
          ),
          { description: 'First an ErrorInfo, whose `reason` is the machine code.' },
        ),
      },
      open,
    ),
  },
  { title: 'GoogleError', description: "A refusal by the AI gateway in Google's form.", ...open },
)

/** The schema of a refusal, by dialect. */
export const gatewayErrorSchemas: Readonly<Record<Dialect, TObject>> = {
  openai: GatewayErrorBody,
  anthropic: AnthropicErrorBody,
  google: GoogleErrorBody,
}

/** What a refusal says, whatever its form. */
export interface GatewayRefusal {
  readonly code: ErrorCode
  readonly message: string
  readonly param?: string | null
  /** Fields that the code comes with (interface 7.1). */
  readonly more?: Readonly<Record<string, unknown>>
}

/** A refusal as the clients of a dialect read it. */
export function gatewayErrorBody(dialect: Dialect, refusal: GatewayRefusal): Readonly<Record<string, unknown>> {
  const { code, message: words, param = null, more = {} } = refusal
  switch (dialect) {
    case 'openai':
      return { error: { message: words, type: openaiType(code), param, code, ...more } }
    case 'anthropic':
      return { type: 'error', error: { type: anthropicType(code), message: words, param, code, ...more } }
    case 'google':
      return {
        error: { code: errors[code].status, message: words, status: googleStatus(code), details: detailsOf(refusal) },
      }
  }
}

/** OpenAI's class of a code, by which its clients tell errors apart. */
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

/** Google's details: what they hold beside the code is text. */
function detailsOf({ code, param = null, more = {} }: GatewayRefusal) {
  const told = Object.entries({ ...(param !== null && { param }), ...more })
  const metadata = Object.fromEntries(
    told.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'svc-ai', metadata }]
}
