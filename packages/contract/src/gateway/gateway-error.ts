import { Type } from 'typebox'
import { type ErrorCode, errors, Issue } from '../error.ts'
import { nullable, open, openString } from '../scalar.ts'

/** The body of every refusal on the gateway's paths: OpenAI's, with the machine code in `code` (completions, AI gateway). */
export const GatewayErrorBody = Type.Object(
  {
    error: Type.Object(
      {
        message: Type.String({ description: 'Prose for people; not part of the contract.' }),
        type: openString([
          'invalid_request_error',
          'authentication_error',
          'permission_error',
          'rate_limit_error',
          'insufficient_quota',
          'server_error',
        ]),
        param: nullable(Type.String({ description: 'The field that was refused.' })),
        code: Type.String({ description: 'A machine code. The set is open.' }),
        issues: Type.Optional(Type.Array(Issue, { description: 'With `invalid_request`.' })),
      },
      open,
    ),
  },
  { title: 'GatewayError', description: 'A refusal by the AI gateway.', ...open },
)

/** OpenAI's class of a code, by which its clients tell errors apart. */
export function gatewayErrorType(code: ErrorCode): string {
  const { status } = errors[code]
  if (status === 402 || code === 'insufficient_quota') return 'insufficient_quota'
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}
