import type {
  CreateMerge,
  CreatePublication,
  Merge,
  MergePage,
  Publication,
  PublicationPage,
  RepositoryPage,
  Review,
} from '@berth/contract'
import type { CallOptions } from './operations.ts'
import type { ApiRequest, Transport } from './transport.ts'

/** Page of a list that is read by its cursor. */
export interface CursorQuery {
  readonly limit?: number
  readonly cursor?: string
}

/** A body as a caller writes it: what has a default may be left out. */
type Written<Body, Defaulted extends keyof Body> = Omit<Body, Defaulted> & Partial<Pick<Body, Defaulted>>

export type PublicationOrder = Written<CreatePublication, 'delivery' | 'draft'>
export type MergeOrder = Written<CreateMerge, 'mode'>

export interface RepositoryOperations {
  /** What Sessions can be made on, as far as the hosts answer. */
  list(query?: CursorQuery, options?: CallOptions): Promise<RepositoryPage>
}

export interface PublicationOperations {
  /** Makes an immutable revision of what the Session's workspace differs in from its base. */
  review(sessionId: string, options?: CallOptions): Promise<{ readonly review: Review }>
  /** Newest first. `hasMore` alone says whether to go on with `nextCursor`. */
  list(sessionId: string, query?: CursorQuery, options?: CallOptions): Promise<PublicationPage>
  get(sessionId: string, id: string, options?: CallOptions): Promise<{ readonly publication: Publication }>
  /** Delivers a revision under an id that the caller mints. Read it until it is final; never send it under another id. */
  put(
    sessionId: string,
    id: string,
    body: PublicationOrder,
    options?: CallOptions,
  ): Promise<{ readonly publication: Publication }>
}

export interface MergeOperations {
  /** Newest first. `hasMore` alone says whether to go on with `nextCursor`. */
  list(sessionId: string, publicationId: string, query?: CursorQuery, options?: CallOptions): Promise<MergePage>
  get(sessionId: string, publicationId: string, id: string, options?: CallOptions): Promise<{ readonly merge: Merge }>
  /** Merges the Publication's pull request at the published head, under an id that the caller mints. */
  put(
    sessionId: string,
    publicationId: string,
    id: string,
    body: MergeOrder,
    options?: CallOptions,
  ): Promise<{ readonly merge: Merge }>
}

export function repositoryOperations(transport: Transport): RepositoryOperations {
  return {
    list: (query, options) =>
      call(transport, { method: 'GET', path: ['v1', 'repositories'], query: { ...query } }, options),
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

/** The shape is the contract's promise; answers may carry more, and are not validated a second time here. */
async function call<T>(transport: Transport, request: ApiRequest, options: CallOptions | undefined): Promise<T> {
  const { body } = await transport.json({ ...request, signal: options?.signal })
  return body as T
}
