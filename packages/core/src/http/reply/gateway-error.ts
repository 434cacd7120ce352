import { type Dialect, type ErrorCode, errors, gatewayErrorBody } from '@berth/contract'

interface Issue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

const isIssue = (value: unknown): value is Issue =>
  typeof value === 'object' && value !== null && 'path' in value && 'message' in value && Array.isArray(value.path)

/** Renders a refusal in the form of a gateway dialect, with field paths in the dialect's notation. */
export function gatewayError(
  dialect: Dialect,
  code: string,
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const known = Object.hasOwn(errors, code) ? (code as ErrorCode) : 'internal_error'
  const { message, param, ...more } = fields
  const { issues } = more
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
  return gatewayErrorBody(dialect, {
    code: known,
    message: sentence,
    param: typeof param === 'string' ? param : place === '' ? null : place,
    more,
  })
}

/** Renders a path as OpenAI does, such as `messages[0].content`. */
function placeOf(path: Issue['path']): string {
  return path
    .map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}
