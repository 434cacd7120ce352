import { BerthError } from '@berth/client'
import type { WorkspaceNode } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { browserFetch, call, toBerthError } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'

/** Most bytes that the service hands out at once. */
const partBytes = 1024 ** 2

/** Which state of the files is meant: that of now, or the repository's when the Session began. */
export type FilesAt = 'now' | 'base'

const placeQuery = (at: FilesAt) => (at === 'now' ? {} : { at })

const filesPath = (sessionId: string, path: string, at: FilesAt) => {
  const query = new URLSearchParams({ ...(path === '' ? {} : { path }), ...placeQuery(at) })
  return `sessions/${encodeURIComponent(sessionId)}/files${query.size === 0 ? '' : `?${query}`}`
}

const last = <T>(queryKey: readonly unknown[]): T | undefined =>
  queryClient
    .getQueriesData<T>({ queryKey })
    .map(([, data]) => data)
    .findLast(data => data !== undefined)

/** The kind of a path of the workspace. `moment` changes when the agent may have changed files: with a Run's begin and end. */
export const nodeQuery = (sessionId: string, path: string, moment: string, at: FilesAt) =>
  queryOptions({
    queryKey: ['session', sessionId, 'files', at, path, moment],
    // A program looks in the sandbox for each answer, so nothing asks on a timer.
    staleTime: 60_000,
    queryFn: async () => (await call<{ node: WorkspaceNode }>('GET', filesPath(sessionId, path, at))).node,
    // The earlier content stays on screen until the new answer arrives.
    placeholderData: () => last<WorkspaceNode>(['session', sessionId, 'files', at, path]),
  })

/** The first bytes of a file, at most `mostBytes`. */
export const contentQuery = (sessionId: string, path: string, moment: string, at: FilesAt, mostBytes: number) =>
  queryOptions({
    queryKey: ['session', sessionId, 'content', at, path, moment, mostBytes],
    staleTime: 60_000,
    gcTime: 60_000,
    queryFn: ({ signal }) => readFile(sessionId, path, { at, mostBytes, signal }),
    placeholderData: () => last<Uint8Array<ArrayBuffer>>(['session', sessionId, 'content', at, path]),
  })

/**
 * Reads a file part by part. A file that changes meanwhile ends where it ends by then.
 * @throws BerthError
 */
export async function readFile(
  sessionId: string,
  path: string,
  { at, mostBytes, signal }: { readonly at: FilesAt; readonly mostBytes: number; readonly signal?: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let have = 0
  for (let more = true; more && have < mostBytes; ) {
    const query = new URLSearchParams({ path, ...placeQuery(at), offset: String(have) })
    const response = await browserFetch(`/cloud/sessions/${encodeURIComponent(sessionId)}/files/content?${query}`, {
      cache: 'no-store',
      ...(signal === undefined ? {} : { signal }),
    })
    if (!response.ok) throw await toBerthError(response)
    const part = new Uint8Array(await response.arrayBuffer())
    if (part.length > partBytes) throw new BerthError({ status: 502, code: null })
    parts.push(part)
    have += part.length
    more = part.length === partBytes && have < Number(response.headers.get('x-svc-file-bytes'))
  }
  const whole = new Uint8Array(have)
  let filled = 0
  for (const part of parts) {
    whole.set(part, filled)
    filled += part.length
  }
  return whole
}
