import type { CallOptions } from './call-options.ts'
import type {
  CreateMerge,
  CreatePublication,
  Merge,
  MergePage,
  Publication,
  PublicationPage,
  RepositoryPage,
  Review,
} from './generated/types.ts'
import type { ApiRequest, Transport } from './transport.ts'

/** Page of a list that is read by a cursor. */
export interface CursorQuery {
  readonly limit?: number
  readonly cursor?: string
}

/** A body as a caller writes it: fields with a default may be omitted. */
type Written<Body, Defaulted extends keyof Body> = Omit<Body, Defaulted> & Partial<Pick<Body, Defaulted>>

export type PublicationOrder = Written<CreatePublication, 'delivery' | 'draft'>
export type MergeOrder = Written<CreateMerge, 'mode'>

export interface RepositoryOperations {
  /** Lists the repositories that Sessions can start from; `missing` names hosts that did not answer. */
  list(query?: CursorQuery, options?: CallOptions): Promise<RepositoryPage>
}

export interface PublicationOperations {
  /** Stores the changes of the Session's workspace as an immutable revision. */
  review(sessionId: string, options?: CallOptions): Promise<{ readonly review: Review }>
  /** Lists Publications, newest first. Only `hasMore` says whether to continue with `nextCursor`. */
  list(sessionId: string, query?: CursorQuery, options?: CallOptions): Promise<PublicationPage>
  get(sessionId: string, id: string, options?: CallOptions): Promise<{ readonly publication: Publication }>
  /**
   * Publishes a revision under an id that the caller chooses. Read it until it is final; never repeat it under another
   * id.
   */
  put(
    sessionId: string,
    id: string,
    body: PublicationOrder,
    options?: CallOptions,
  ): Promise<{ readonly publication: Publication }>
}

export interface MergeOperations {
  /** Lists Merges, newest first. Only `hasMore` says whether to continue with `nextCursor`. */
  list(sessionId: string, publicationId: string, query?: CursorQuery, options?: CallOptions): Promise<MergePage>
  get(sessionId: string, publicationId: string, id: string, options?: CallOptions): Promise<{ readonly merge: Merge }>
  /** Merges the Publication's pull request at the published head, under an id that the caller chooses. */
  put(
    sessionId: string,
    publicationId: string,
    id: string,
    body: MergeOrder,
    options?: CallOptions,
  ): Promise<{ readonly merge: Merge }>
}

/** Makes the operations of `/v1`, or of `/cloud`, which lists what the organization of a person is connected to. */
export function repositoryOperations(transport: Transport, root: 'v1' | 'cloud' = 'v1'): RepositoryOperations {
  return {
    list: (query, options) =>
      call(transport, { method: 'GET', path: [root, 'repositories'], query: { ...query } }, options),
  }
}

export function publicationOperations(transport: Transport): PublicationOperations {
  const below = (sessionId: string, ...rest: string[]) => ['v1', 'sessions', sessionId, ...rest]
  return {
    review: (sessionId, options) =>
      call(transport, { method: 'GET', path: below(sessionId, 'repository', 'review') }, options),
    list: (sessionId, query, options) =>
      call(transport, { method: 'GET', path: below(sessionId, 'publications'), query: { ...query } }, options),
    get: (sessionId, id, options) =>
      call(transport, { method: 'GET', path: below(sessionId, 'publications', id) }, options),
    put: (sessionId, id, body, options) =>
      call(transport, { method: 'PUT', path: below(sessionId, 'publications', id), body }, options),
  }
}

export function mergeOperations(transport: Transport): MergeOperations {
  const all = (sessionId: string, publicationId: string) => [
    ...['v1', 'sessions', sessionId],
    ...['publications', publicationId, 'merges'],
  ]
  return {
    list: (sessionId, publicationId, query, options) =>
      call(transport, { method: 'GET', path: all(sessionId, publicationId), query: { ...query } }, options),
    get: (sessionId, publicationId, id, options) =>
      call(transport, { method: 'GET', path: [...all(sessionId, publicationId), id] }, options),
    put: (sessionId, publicationId, id, body, options) =>
      call(transport, { method: 'PUT', path: [...all(sessionId, publicationId), id], body }, options),
  }
}

/**
 * Sends a request. The contract fixes the type of the response, so it is not validated again; it may hold more fields.
 */
async function call<T>(transport: Transport, request: ApiRequest, options: CallOptions | undefined): Promise<T> {
  const { body } = await transport.json({ ...request, options })
  return body as T
}
