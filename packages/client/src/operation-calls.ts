import type { CallOptions } from './call-options.ts'
import type { Operations } from './generated/types.ts'
import type { OperationRow } from './operation-row.ts'
import type { ApiRequest, Transport } from './transport.ts'

/** Id of an operation, as the OpenAPI document names it. */
export type OperationId = keyof Operations

/** Ids of the operations that answer with one page of a list. */
export type PagedOperationId = {
  [Id in OperationId]: Operations[Id] extends { readonly item: unknown } ? Id : never
}[OperationId]

/** Input of an operation: its path parameters by name, `query`, `headers` and `body`. */
export type OperationInput<Id extends OperationId> = Operations[Id]['input']

/** Answer of an operation: its JSON body, undefined if it has none, or the `Response` of a stream or of bytes. */
export type OperationAnswer<Id extends OperationId> = Operations[Id]['answer']

/** One item of a list. */
export type OperationItem<Id extends PagedOperationId> = Operations[Id]['item']

/** The input may be left out if all of it may. */
type CallArguments<Input> =
  Record<never, never> extends Input ? [input?: Input, options?: CallOptions] : [input: Input, options?: CallOptions]

/** Every operation of the contract, by its id. */
export interface OperationCalls {
  /**
   * Calls an operation. An id that the caller may choose and leaves out is chosen once, so every attempt carries the same
   * one. A call is repeated only if that cannot do its work twice.
   *
   * @throws BerthError if the service refuses
   * @throws BerthConnectionError if no complete response arrives
   */
  call<Id extends OperationId>(id: Id, ...rest: CallArguments<OperationInput<Id>>): Promise<OperationAnswer<Id>>
  /**
   * Calls an operation as `call` does, and returns the text of its JSON body as it was sent, for whoever digests or keeps it.
   *
   * @throws BerthError if the service refuses
   * @throws BerthConnectionError if no complete response arrives
   */
  text<Id extends OperationId>(id: Id, ...rest: CallArguments<OperationInput<Id>>): Promise<string>
  /**
   * Yields the items of a list, and asks for the next page when the last item of one has been taken. The query chooses
   * where to begin and the size of a page.
   *
   * @throws BerthError if the service refuses
   * @throws BerthConnectionError if no complete response arrives
   */
  items<Id extends PagedOperationId>(
    id: Id,
    ...rest: CallArguments<OperationInput<Id>>
  ): AsyncGenerator<OperationItem<Id>, void, undefined>

  /** Yields whole pages of a list, as `items` reads them, for members beside the items. */
  pages<Id extends PagedOperationId>(
    id: Id,
    ...rest: CallArguments<OperationInput<Id>>
  ): AsyncGenerator<OperationAnswer<Id>, void, undefined>
}

/** An input without the types of its operation. */
interface AnyInput {
  readonly query?: Readonly<Record<string, string | number>>
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: unknown
  readonly [parameter: string]: unknown
}

/**
 * Makes the calls of every operation. A bundler puts the table into a chunk of its own, because a page can be shown
 * without it; it is loaded before the first call needs it.
 */
export function operationCalls(transport: Transport): OperationCalls {
  let loading: Promise<typeof import('./generated/operation-table.ts')> | null = null
  const rows = async () => {
    loading ??= import('./generated/operation-table.ts')
    try {
      return (await loading).operationTable
    } catch (failure) {
      loading = null
      throw failure
    }
  }
  // The call that needs it reports a failure.
  rows().catch(() => {})
  const prepare = async (id: OperationId, input: AnyInput, options: CallOptions | undefined) => {
    const row = (await rows())[id]
    return { row, request: { ...requestOf(row, input), operation: id, options } }
  }
  const call = async (id: OperationId, input: AnyInput, options: CallOptions | undefined): Promise<unknown> => {
    const { row, request } = await prepare(id, input, options)
    if (row.answer === 'response') return transport.response(request)
    const { body } = await transport.json(request)
    return row.answer === 'none' ? undefined : body
  }
  async function* readPages(id: PagedOperationId, input: unknown, options: CallOptions | undefined) {
    const { page } = (await rows())[id]
    if (page === undefined) throw new TypeError(`${id} answers no page`)
    let next: AnyInput | null = (input ?? {}) as AnyInput
    while (next !== null) {
      const answer = (await call(id, next, options)) as Record<string, unknown>
      const items = answer[page.items] as never[]
      yield { answer, items }
      const continuation = continuationOf(page, answer, items)
      next = continuation === null ? null : { ...next, query: { ...next.query, [page.by]: continuation } }
    }
  }
  return {
    call: (id, ...[input, options]) => call(id, (input ?? {}) as AnyInput, options) as never,
    text: async (id, ...[input, options]) => {
      const { row, request } = await prepare(id, (input ?? {}) as AnyInput, options)
      if (row.answer !== 'json') throw new TypeError(`${id} answers no JSON`)
      return (await transport.json(request)).text
    },
    async *items(id, ...[input, options]) {
      for await (const { items } of readPages(id, input, options)) yield* items
    },
    async *pages(id, ...[input, options]) {
      for await (const { answer } of readPages(id, input, options)) yield answer as never
    },
  }
}

/** Returns the value that the next page is asked for by; null if this one is the last. */
function continuationOf(
  page: { readonly by: 'cursor' | 'after' | 'before' },
  answer: Readonly<Record<string, unknown>>,
  items: readonly { readonly sequence?: number }[],
): string | number | null {
  const { nextCursor, hasMore, nextAfter, nextBefore, before, lastSequence } = answer
  if (page.by === 'cursor') return hasMore === true && typeof nextCursor === 'string' ? nextCursor : null
  if (page.by === 'before')
    return typeof nextBefore === 'number' ? nextBefore : typeof before === 'number' ? before : null
  if (typeof nextAfter === 'number') return hasMore === true ? nextAfter : null
  const reached = items.at(-1)?.sequence
  return reached !== undefined && typeof lastSequence === 'number' && reached < lastSequence ? reached : null
}

/** Builds the request of an operation. @throws TypeError if a path parameter is absent */
function requestOf(row: OperationRow, input: AnyInput): ApiRequest {
  const { octets, callerKey } = row
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(input.headers ?? {})) headers[name] = String(value)
  if (row.accept !== undefined) headers['accept'] = row.accept
  if (octets !== undefined) headers['content-type'] = octets
  return {
    method: row.method,
    path: pathOf(row, input),
    headers,
    ...(input.query !== undefined && { query: input.query }),
    ...(row.once === true && { once: true }),
    origin: row.origin,
    ...bodyOf(input.body, octets !== undefined, callerKey),
  }
}

function bodyOf(body: unknown, isBytes: boolean, callerKey: string | undefined): Partial<ApiRequest> {
  if (body === undefined) return {}
  if (isBytes) return { octets: body as Uint8Array }
  if (body instanceof FormData) return { form: body }
  if (callerKey === undefined) return { body }
  const members = body as Readonly<Record<string, unknown>>
  return { body: { ...members, [callerKey]: members[callerKey] ?? crypto.randomUUID() } }
}

/** Fills in a template, segment by segment; a segment may hold a suffix, as in `{model}:countTokens`. */
function pathOf({ path, callerId }: OperationRow, input: AnyInput): string[] {
  return path
    .slice(1)
    .split('/')
    .map(segment =>
      segment.replace(/\{(\w+)\}/, (_, name: string) => {
        const value = input[name] ?? (name === callerId ? crypto.randomUUID() : undefined)
        if (value === undefined) throw new TypeError(`${path} needs ${name}`)
        return String(value)
      }),
    )
}
