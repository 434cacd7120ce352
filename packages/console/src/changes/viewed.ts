import type { SessionState, ViewedFiles } from '@berth/contract'
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { followFeed } from '../live/live.ts'

/** The files of a Session's changes that the person has viewed, in any tab or browser. */
const viewedQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['viewed', sessionId],
    queryFn: ({ signal }) => {
      followMarks()
      return call<ViewedFiles>('GET', `sessions/${sessionId}/viewed-files`, undefined, signal)
    },
  })

let following = false

/** Reads marks again that changed elsewhere, from the first call on. */
function followMarks(): void {
  if (following) return
  following = true
  followFeed(state => {
    if (state === null) void queryClient.invalidateQueries({ queryKey: ['viewed'] })
    else readIfOlder(state)
  })
}

const underWay = (sessionId: string) => queryClient.isMutating({ mutationKey: ['viewed', sessionId] })

function readIfOlder({ id, viewedMarks }: Pick<SessionState, 'id' | 'viewedMarks'>): void {
  const { queryKey } = viewedQuery(id)
  const known = queryClient.getQueryData(queryKey)
  // This tab's own marks come back, too; an answer from before the last of them would undo it on screen.
  if (known !== undefined && known.marks < viewedMarks && underWay(id) === 0) {
    void queryClient.invalidateQueries({ queryKey })
  }
}

interface Mark {
  readonly path: string
  readonly digest: string
  readonly viewed: boolean
}

/** Returns the files that the person has viewed as they are, and the way to say so. Another content asks to be looked at again. */
export function useViewed(sessionId: string): {
  readonly has: (path: string, digest: string) => boolean
  readonly set: (path: string, digest: string, viewed: boolean) => void
  /** Why the last mark was not kept. */
  readonly problem: unknown
} {
  const query = viewedQuery(sessionId)
  const { data } = useQuery({ ...query, select: indexed })
  const marking = useMutation({
    mutationKey: query.queryKey,
    // One after the other: the last press decides.
    scope: { id: `viewed ${sessionId}` },
    mutationFn: (mark: Mark) => call<{ marks: number }>('PUT', `sessions/${sessionId}/viewed-files`, mark),
    onMutate: mark => {
      void queryClient.cancelQueries({ queryKey: query.queryKey })
      queryClient.setQueryData(query.queryKey, known => known && withMark(known, mark))
    },
    onSuccess: ({ marks }) => {
      queryClient.setQueryData(query.queryKey, known => {
        // A gap is somebody else's mark: the feed has told of it while this one was under way.
        return known && { ...known, marks: marks === known.marks + 1 ? marks : known.marks }
      })
    },
    onSettled: (answer, error) => {
      const known = queryClient.getQueryData(query.queryKey)
      const isBehind = known === undefined || error !== null || known.marks !== answer?.marks
      if (isBehind && underWay(sessionId) === 1) void queryClient.invalidateQueries({ queryKey: query.queryKey })
    },
  })
  return {
    has: (path, digest) => data?.get(path) === digest,
    set: (path, digest, viewed) => marking.mutate({ path, digest, viewed }),
    problem: marking.error,
  }
}

const indexed = ({ files }: ViewedFiles): ReadonlyMap<string, string> =>
  new Map(files.map(({ path, digest }) => [path, digest]))

function withMark(known: ViewedFiles, { path, digest, viewed }: Mark): ViewedFiles {
  const others = known.files.filter(file => file.path !== path)
  return { ...known, files: viewed ? [...others, { path, digest }] : others }
}
