import type { Artifact, ArtifactPage } from '@berth/contract'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { browserFetch, call, toBerthError } from '../api/client.ts'

const pathOf = (sessionId: string) => `v1/sessions/${encodeURIComponent(sessionId)}/artifacts`

/** The path of an Artifact's bytes, below `/cloud`. */
export const contentPath = ({ sessionId, id }: Pick<Artifact, 'sessionId' | 'id'>) =>
  `${pathOf(sessionId)}/${encodeURIComponent(id)}/content`

/** The Artifacts of a Session, oldest first. `known` changes when the log tells of another one. */
export const artifactsQuery = (sessionId: string, known: number) =>
  infiniteQueryOptions({
    queryKey: ['session', sessionId, 'artifacts', known],
    queryFn: ({ pageParam }) =>
      call<ArtifactPage>(
        'GET',
        `${pathOf(sessionId)}?${new URLSearchParams({ limit: '50', ...(pageParam === '' ? {} : { cursor: pageParam }) })}`,
      ),
    initialPageParam: '',
    getNextPageParam: page => (page.hasMore ? (page.nextCursor ?? undefined) : undefined),
  })

/** The bytes of an Artifact, which never change. */
export const artifactContentQuery = (artifact: Pick<Artifact, 'sessionId' | 'id'>) =>
  queryOptions({
    queryKey: ['artifact', artifact.sessionId, artifact.id],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    queryFn: async ({ signal }) => {
      const response = await browserFetch(`/cloud/${contentPath(artifact)}`, { signal })
      if (!response.ok) throw await toBerthError(response)
      return new Uint8Array(await response.arrayBuffer())
    },
  })
