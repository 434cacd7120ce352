import { BerthError, type Review, type Session } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { GitCompare, LoaderCircle, Maximize2, PackageOpen } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useRef } from 'react'
import { to } from '../routing/to.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { printableLine } from '../ui/printable.ts'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { ChangeCounts } from './change-counts.tsx'
import { CommentsBar } from './comments-bar.tsx'
import { Deliveries } from './deliveries.tsx'
import { DiffView, type GoToFile } from './diff-view.tsx'
import { Publish } from './publish.tsx'
import { Signals } from './signals.tsx'
import { isStored, type LiveReview, useLiveReview } from './use-live-review.ts'

const VerificationSection = lazy(async () => ({
  default: (await import('../verification/verification-section.tsx')).VerificationSection,
}))

/** The changes of a Session as they are now, and their delivery. */
export function Changes({ session }: { session: Session }) {
  const review = useLiveReview(session)
  const can = useSessionCan(session)('review')
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="max-h-[40%] shrink-0 overflow-y-auto">
        <Deliveries session={session} />
      </div>
      {can.allowed ? (
        <Reviewed session={session} review={review} />
      ) : (
        <NoChanges session={session} reason={can.reason} />
      )}
    </div>
  )
}

function Reviewed({ session, review }: { session: Session; review: LiveReview }) {
  const goTo: GoToFile = useRef(null)
  if (review.data === undefined) {
    if (review.isError) return <ErrorState error={review.error} retry={() => void review.refetch()} />
    return hasNoChanges(session) ? <NoChanges session={session} /> : <LoadingLines label="the changes" />
  }
  const { data } = review
  if (data.files.length === 0) return <NothingChanged session={session} review={data} />
  return (
    <>
      <ReviewBar session={session} review={review} data={data}>
        <Link
          {...to.review(session.id)}
          title="Review in full width"
          aria-label="Review in full width"
          className="grid size-8 place-items-center rounded-md text-ink-2 hover:bg-hover"
        >
          <Maximize2 className="size-4" aria-hidden />
        </Link>
      </ReviewBar>
      <Suspense>
        <VerificationSection session={session} review={data} />
      </Suspense>
      <Signals sessionId={session.id} review={data} onGo={(at, line) => goTo.current?.(at, line)} />
      <DiffView sessionId={session.id} review={data} goTo={goTo} />
      <CommentsBar session={session} review={data} />
    </>
  )
}

/** Whether no revision of a Session without a sandbox was ever stored. */
export const hasNoChanges = (session: Session): boolean => isStored(session) && (session.changes ?? null) === null

/** Says that there is nothing to review yet. */
export function NothingChanged({ session, review }: { session: Session; review: Review }) {
  return (
    <>
      <ReviewNotes review={review} />
      <EmptyState icon={GitCompare} title="No changes yet">
        What the agent changes in {session.source?.label} shows up here while it works.
      </EmptyState>
    </>
  )
}

/** Names the parts that a review leaves out or treats in a special way. */
function ReviewNotes({ review: { notes = [] } }: { review: Review }) {
  if (notes.length === 0) return null
  return (
    <ul
      aria-label="Notes about the changes"
      className="max-h-40 shrink-0 overflow-y-auto border-b border-line bg-surface px-3 py-2 text-xs text-ink-2"
    >
      {notes.map(note => (
        <li key={note} dir="auto" className="break-words">
          {printableLine(note)}
        </li>
      ))}
    </ul>
  )
}

/** How much a review has, whether it is being read again, and its delivery. */
export function ReviewBar(props: { session: Session; review: LiveReview; data: Review; children?: ReactNode }) {
  const { session, review, data } = props
  return (
    <>
      <div className="flex min-h-11 shrink-0 flex-wrap items-center gap-x-2.5 gap-y-1 border-b border-line px-3 py-1.5 text-[0.8125rem]">
        <ChangeCounts changes={{ ...data, files: data.files.length }} />
        <span className="text-ink-3 max-sm:hidden">
          against {data.targetBranch}
          {isStored(session) && ', as the last Run left them'}
        </span>
        <span role="status" className="inline-flex items-center gap-1.5 text-xs text-ink-3">
          {review.isFetching && (
            <>
              <LoaderCircle className="size-3.5 animate-spin" aria-hidden /> Reading the changes
            </>
          )}
        </span>
        <div className="ml-auto flex items-center gap-1.5">
          {props.children}
          <Publish session={session} review={data} />
        </div>
      </div>
      {review.isError && review.error instanceof BerthError && (
        <div className="p-3">
          <InlineProblem error={review.error} />
        </div>
      )}
      <ReviewNotes review={data} />
    </>
  )
}

/** Says why there are no changes to read. */
export function NoChanges({ session, reason }: { session: Session; reason?: string | undefined }) {
  return reason === undefined ? (
    <EmptyState icon={GitCompare} title="No changes">
      No Run of this Session has changed a file.
    </EmptyState>
  ) : (
    <EmptyState icon={PackageOpen} title={session.source === undefined ? 'No repository' : 'Not for you'}>
      {reason}
    </EmptyState>
  )
}
