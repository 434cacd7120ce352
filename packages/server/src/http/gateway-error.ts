import { type ErrorCode, errors, gatewayErrorType } from '@berth/contract'

interface Issue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

const isIssue = (value: unknown): value is Issue =>
  typeof value === 'object' && value !== null && 'path' in value && 'message' in value && Array.isArray(value.path)

/** A refusal as the gateway's clients read it: OpenAI's body, the machine code in `code` (completions, AI gateway). */
export function gatewayErrorBody(code: string, fields: Readonly<Record<string, unknown>>): string {
  const known = Object.hasOwn(errors, code) ? (code as ErrorCode) : 'internal_error'
  const { message, param, issues, ...more } = fields
  const first = Array.isArray(issues) ? issues.find(isIssue) : undefined
  const place = first === undefined ? null : placeOf(first.path)
  const sentence =
    typeof message === 'string'
      ? message
      : first === undefined
        ? errors[known].cause
        : place === ''
          ? `The body ${first.message}.`
          : `'${place}' ${first.message}.`
  return JSON.stringify({
    error: {
      message: sentence,
      type: gatewayErrorType(known),
      param: typeof param === 'string' ? param : place === '' ? null : place,
      code,
      ...(issues !== undefined && { issues }),
      ...more,
    },
  })
}

/** `messages[0].content`, as OpenAI names places. */
function placeOf(path: Issue['path']): string {
  return path
    .map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}
