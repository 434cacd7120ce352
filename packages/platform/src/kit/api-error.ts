/** A refusal that the contract names. Domain code throws it; only the HTTP layer turns it into a response. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly status: number
  readonly code: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    detail: {
      fields?: Readonly<Record<string, unknown>>
      headers?: Readonly<Record<string, string>>
      cause?: unknown
    } = {},
  ) {
    super(code, { cause: detail.cause })
    this.status = status
    this.code = code
    this.fields = detail.fields ?? {}
    this.headers = detail.headers ?? {}
  }
}
