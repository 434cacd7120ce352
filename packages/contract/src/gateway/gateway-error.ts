import { Type } from 'typebox'
import { Issue } from '../error.ts'
import { nullable, open, openString } from '../scalar.ts'

/** The body of every refusal on the gateway's paths: OpenAI's, with the machine code in `code` (completions, AI gateway). */
export const GatewayErrorBody = Type.Object(
  {
    error: Type.Object(
      {
        message: Type.String({ description: 'Prose for people; not part of the contract.' }),
        type: openString(['invalid_request_error', 'authentication_error', 'insufficient_quota', 'api_error']),
        param: nullable(Type.String({ description: 'The field that was refused.' })),
        code: Type.String({ description: 'A machine code. The set is open.' }),
        issues: Type.Optional(Type.Array(Issue, { description: 'With `invalid_request`.' })),
      },
      open,
    ),
  },
  { title: 'GatewayError', description: 'A refusal by the AI gateway.', ...open },
)
