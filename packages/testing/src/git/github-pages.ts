/** A request below a repository of a test's GitHub. */
export interface ServedCall {
  readonly method: string
  readonly repository: number
  readonly rest: string
  readonly query: URLSearchParams
  readonly body: Record<string, unknown>
}

/** What a test's GitHub answers. */
export interface ServedAnswer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Record<string, string>
}

/** Answers with the page of a list that a request asks for, and with `Link` to its last one. */
export function pageOf(
  items: readonly unknown[],
  query: URLSearchParams,
  rest: string,
  wrap: (page: readonly unknown[]) => unknown = page => page,
): ServedAnswer {
  const [size, page] = [Number(query.get('per_page') ?? 30), Number(query.get('page') ?? 1)]
  const last = Math.ceil(items.length / size)
  const link = `<https://github.example/${rest}?per_page=${size}&page=${last}>; rel="last"`
  const body = wrap(items.slice((page - 1) * size, page * size))
  return { status: 200, body, ...(page < last && { headers: { link } }) }
}
