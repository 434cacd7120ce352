import type { CallOptions } from './call-options.ts'
import type {
  Environment,
  EnvironmentArchive,
  EnvironmentDraft,
  EnvironmentPage,
  EnvironmentRevisionPage,
  ExtensionList,
} from './generated/types.ts'
import type { ApiRequest, Transport } from './transport.ts'

/** Page and filter of the list of environments. */
export interface EnvironmentQuery {
  readonly limit?: number
  readonly cursor?: string
  /** Absent: live environments; `true`: both; `only`: archived ones. */
  readonly archived?: 'true' | 'only'
}

/** Page of the list of revisions, which is read backward from an exclusive revision. */
export interface EnvironmentRevisionQuery {
  readonly before?: number
  readonly limit?: number
}

interface EnvironmentAnswer {
  readonly environment: Environment
}

/**
 * Environments of the caller's organization. `seen` is the revision that a write replaces (`If-Match`); if there is a
 * newer one, the write is refused with 409 `environment_conflict`.
 */
export interface EnvironmentOperations {
  /** Lists environments by name. Only `hasMore` says whether to continue with `nextCursor`. */
  list(query?: EnvironmentQuery, options?: CallOptions): Promise<EnvironmentPage>
  get(id: string, options?: CallOptions): Promise<EnvironmentAnswer>
  /** Lists revisions, newest first; continue with `before: nextBefore` until that is null. */
  revisions(id: string, query?: EnvironmentRevisionQuery, options?: CallOptions): Promise<EnvironmentRevisionPage>
  /**
   * Creates an environment under an id that the caller chooses (`seen` null), or replaces its document. A document
   * equal to the newest one is no conflict, so a write whose answer was lost can be repeated.
   */
  put(
    id: string,
    document: EnvironmentDraft,
    seen: number | null,
    options?: CallOptions,
  ): Promise<EnvironmentAnswer & { readonly created: boolean }>
  /** Archives an environment. Repeating it with the same `seen` changes nothing. */
  archive(id: string, seen: number, options?: CallOptions): Promise<EnvironmentAnswer>
  /** Unarchives an environment. Repeating it with the same `seen` changes nothing. */
  unarchive(id: string, seen: number, options?: CallOptions): Promise<EnvironmentAnswer>
  /** Writes a new revision with the document of an earlier one. */
  restore(id: string, revision: number, seen: number, options?: CallOptions): Promise<EnvironmentAnswer>
  /**
   * Writes a secret. Every write makes a revision: if an answer is lost, the retry may report a conflict although the
   * first write succeeded. Read the environment and write again then.
   */
  putSecret(id: string, name: string, value: string, seen: number, options?: CallOptions): Promise<EnvironmentAnswer>
  /** Deletes a secret. Deleting one that does not exist changes nothing. */
  deleteSecret(id: string, name: string, seen: number, options?: CallOptions): Promise<EnvironmentAnswer>
  /**
   * Uploads the archive of an extension, whose digest it is stored under. A repeat changes nothing.
   * @param content a ZIP file
   */
  uploadArchive(
    id: string,
    sha256: string,
    content: Uint8Array,
    options?: CallOptions,
  ): Promise<{ readonly archive: EnvironmentArchive }>
  /** Lists the extensions that the operator offers. */
  extensions(options?: CallOptions): Promise<ExtensionList>
  /** Chooses the environment of people's new Sessions; null: none. */
  setDefault(id: string | null, options?: CallOptions): Promise<{ readonly environment: Environment | null }>
}

export function environmentOperations(transport: Transport): EnvironmentOperations {
  const below = (id: string, ...rest: string[]) => ['v1', 'environments', id, ...rest]
  return {
    list: (query, options) =>
      call(transport, { method: 'GET', path: ['v1', 'environments'], query: { ...query } }, options),
    get: (id, options) => call(transport, { method: 'GET', path: below(id) }, options),
    revisions: (id, query, options) =>
      call(transport, { method: 'GET', path: below(id, 'revisions'), query: { ...query } }, options),
    async put(id, document, seen, options) {
      const headers = seen === null ? {} : ifMatch(seen)
      const request = { method: 'PUT', path: below(id), body: { document }, headers } as const
      const { status, body } = await transport.json({ ...request, options })
      return { ...(body as EnvironmentAnswer), created: status === 201 }
    },
    archive: (id, seen, options) =>
      call(transport, { method: 'DELETE', path: below(id), headers: ifMatch(seen) }, options),
    unarchive: (id, seen, options) =>
      call(transport, { method: 'POST', path: below(id, 'unarchive'), headers: ifMatch(seen) }, options),
    restore: (id, revision, seen, options) => {
      const path = below(id, 'revisions', String(revision), 'restore')
      return call(transport, { method: 'POST', path, headers: ifMatch(seen) }, options)
    },
    putSecret: (id, name, value, seen, options) => {
      const path = below(id, 'secrets', name)
      return call(transport, { method: 'PUT', path, body: { value }, headers: ifMatch(seen) }, options)
    },
    deleteSecret: (id, name, seen, options) =>
      call(transport, { method: 'DELETE', path: below(id, 'secrets', name), headers: ifMatch(seen) }, options),
    uploadArchive: (id, sha256, content, options) => {
      const request = { method: 'PUT', path: below(id, 'archives', sha256), octets: content } as const
      return call(transport, { ...request, headers: { 'content-type': 'application/zip' } }, options)
    },
    extensions: options => call(transport, { method: 'GET', path: ['v1', 'extensions'] }, options),
    setDefault: (id, options) => {
      const path = ['v1', 'organization', 'default-environment']
      return call(transport, { method: 'PUT', path, body: { id } }, options)
    },
  }
}

const ifMatch = (revision: number) => ({ 'if-match': `"${revision}"` })

/**
 * Sends a request. The contract fixes the type of the response, so it is not validated again; it may hold more fields.
 */
async function call<T>(transport: Transport, request: ApiRequest, options: CallOptions | undefined): Promise<T> {
  const { body } = await transport.json({ ...request, options })
  return body as T
}
