import type { ErrorCodes } from './generated/types.ts'

/** A code of a refusal. Editors suggest the known ones; any other string is possible too. */
export type ErrorCode = keyof ErrorCodes | (string & Record<never, never>)

/**
 * The service refused a request. Decide by `code`, never by `status` alone or by `message`. The set of codes is open:
 * treat an unknown code by its status.
 */
export class BerthError extends Error {
  override readonly name = 'BerthError'
  readonly status: number
  /** Machine-readable code; null if a proxy in front of the service answered without one. */
  readonly code: ErrorCode | null
  /** The other fields of the error body. */
  readonly fields: Readonly<Record<string, unknown>>
  /** From the `Retry-After` header, or else from the body. */
  readonly retryAfterSeconds: number | null
  /** The service's id of the request, for its operator; null if no service answered. */
  readonly requestId: string | null

  constructor(refusal: {
    readonly status: number
    readonly code: ErrorCode | null
    readonly fields?: Readonly<Record<string, unknown>>
    readonly retryAfterSeconds?: number | null
    readonly requestId?: string | null
  }) {
    super(`${refusal.status} ${refusal.code ?? 'without a code'}`)
    this.status = refusal.status
    this.code = refusal.code
    this.fields = refusal.fields ?? {}
    this.retryAfterSeconds = refusal.retryAfterSeconds ?? null
    this.requestId = refusal.requestId ?? null
  }
}

/**
 * Returns true if a failure is a refusal with this code; its `fields` are typed then.
 *
 * @example if (hasCode(failure, 'insufficient_scope')) console.error(failure.fields.requiredScope)
 */
export function hasCode<Code extends keyof ErrorCodes>(
  failure: unknown,
  code: Code,
): failure is BerthError & { readonly code: Code; readonly fields: Readonly<ErrorCodes[Code]> } {
  return failure instanceof BerthError && failure.code === code
}

/** No complete response arrived: a refused connection, a cut body, a timeout, or a response of something else. */
export class BerthConnectionError extends Error {
  override readonly name = 'BerthConnectionError'
  readonly url: string

  constructor(url: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.url = url
  }
}

/** Parses both forms of `Retry-After`; returns null if it is absent or invalid. */
export function readRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null
  if (/^\d+$/.test(header.trim())) return Number(header)
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000))
}

/**
 * Converts an error response. The body may be anything, because proxies answer with HTML or nothing.
 * @param now counts if the response does not tell the time of the service's own clock
 */
export async function readRefusal(response: Response, now: number): Promise<BerthError> {
  const sent = Date.parse(response.headers.get('date') ?? '')
  const body = parseObject(await response.text())
  const { error, ...fields } = body
  const inBody = fields.retryAfterSeconds
  return new BerthError({
    status: response.status,
    code: typeof error === 'string' ? error : null,
    fields,
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds:
      readRetryAfter(response.headers.get('retry-after'), sent || now) ?? (typeof inBody === 'number' ? inBody : null),
  })
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}
