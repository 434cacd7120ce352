import { BerthError, type Review, type Session } from '@berth/client'
import { keepPreviousData, type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query'
import { GitCompare, LoaderCircle, PackageOpen } from 'lucide-react'
import { call } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { useLog } from '../session/logs.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { counted } from '../ui/words.ts'
import { Deliveries } from './deliveries.tsx'
import { FileList } from './file-list.tsx'
import { Publish } from './publish.tsx'
import { reviewQuery } from './queries.ts'

/** The changes of a Session as they are now, and their delivery. */
export function Changes({ session }: { session: Session }) {
  const editedAt = useLog(session.id, snapshot => (snapshot.ready ? snapshot.view.editedAt : -1))
  const can = useSessionCan(session)('review')
  const review = useQuery({
    ...reviewQuery(session.id, editedAt),
    enabled: can.allowed && editedAt !== -1,
    // The old review stays on screen until the new one is there.
    placeholderData: keepPreviousData,
  })
  return (
    <div className="flex flex-col">
      <Deliveries session={session} />
      {can.allowed ? <Reviewed session={session} review={review} /> : <Without session={session} reason={can.reason} />}
    </div>
  )
}

function Reviewed({ session, review }: { session: Session; review: UseQueryResult<Review> }) {
  if (review.data === undefined) {
    if (review.isError) return <ErrorState error={review.error} retry={() => void review.refetch()} />
    return <LoadingLines label="the changes" />
  }
  const { data } = review
  if (data.files.length === 0) {
    return (
      <EmptyState icon={GitCompare} title="No changes yet">
        What the agent changes in {session.source?.label} shows up here while it works.
      </EmptyState>
    )
  }
  return (
    <>
      <div className="flex min-h-11 flex-wrap items-center gap-2.5 border-b border-line px-4 py-1.5 text-[0.8125rem]">
        <span>{counted(data.files.length, 'file')}</span>
        <span className="text-good tabular-nums">+{data.additions}</span>
        <span className="text-bad tabular-nums">−{data.deletions}</span>
        <span className="text-ink-3">against {data.targetBranch}</span>
        <span role="status" className="inline-flex items-center gap-1.5 text-xs text-ink-3">
          {review.isFetching && (
            <>
              <LoaderCircle className="size-3.5 animate-spin" aria-hidden /> Reading the changes
            </>
          )}
        </span>
        <div className="ml-auto">
          <Publish key={session.id} session={session} review={data} />
        </div>
      </div>
      {review.isError && review.error instanceof BerthError && (
        <div className="p-3">
          <InlineProblem error={review.error} />
        </div>
      )}
      <FileList review={data} />
    </>
  )
}

function Without({ session, reason }: { session: Session; reason: string }) {
  const verdict = useSessionCan(session)('wake')
  const wake = useMutation({
    mutationFn: () => call<{ session: Session }>('PUT', `v1/sessions/${session.id}/workspace`),
    onSuccess: answer => queryClient.setQueryData(sessionQuery(session.id).queryKey, answer.session),
  })
  const offered = session.source !== undefined && session.archivedAt === undefined
  return (
    <EmptyState
      icon={PackageOpen}
      title={session.source === undefined ? 'No repository' : 'No sandbox'}
      action={
        offered && (
          <Button verdict={verdict} busy={wake.isPending} onClick={() => wake.mutate()}>
            Bring the sandbox back
          </Button>
        )
      }
    >
      <p>{reason}</p>
      <InlineProblem error={wake.error} />
    </EmptyState>
  )
}
