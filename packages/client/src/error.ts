/**
 * The service refused a request. Branch on `code`, never on `status` alone and never on `message`: the set of codes is
 * open, and unknown ones are to be treated by their status.
 */
export class BerthError extends Error {
  override readonly name = 'BerthError'
  readonly status: number
  /** The machine code; null where a proxy in front of the service answered without one. */
  readonly code: string | null
  /** What the error body carries beside its code. */
  readonly fields: Readonly<Record<string, unknown>>
  /** From the `Retry-After` header, else from the body. */
  readonly retryAfterSeconds: number | null

  constructor(refusal: {
    readonly status: number
    readonly code: string | null
    readonly fields?: Readonly<Record<string, unknown>>
    readonly retryAfterSeconds?: number | null
  }) {
    super(`${refusal.status} ${refusal.code ?? 'without a code'}`)
    this.status = refusal.status
    this.code = refusal.code
    this.fields = refusal.fields ?? {}
    this.retryAfterSeconds = refusal.retryAfterSeconds ?? null
  }
}

/** No complete answer arrived: refused connection, cut body, time-out, or something that is not the service. */
export class BerthConnectionError extends Error {
  override readonly name = 'BerthConnectionError'
  readonly url: string

  constructor(url: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.url = url
  }
}

/** Reads `Retry-After` in both of its forms; null when absent or unreadable. */
export function readRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null
  if (/^\d+$/.test(header.trim())) return Number(header)
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000))
}

/** Turns a non-2xx answer into the error it stands for. The body may be anything: proxies answer HTML or nothing. */
export async function readRefusal(response: Response, now: number): Promise<BerthError> {
  const body = parseObject(await response.text())
  const { error, ...fields } = body
  const inBody = fields.retryAfterSeconds
  return new BerthError({
    status: response.status,
    code: typeof error === 'string' ? error : null,
    fields,
    retryAfterSeconds:
      readRetryAfter(response.headers.get('retry-after'), now) ?? (typeof inBody === 'number' ? inBody : null),
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
