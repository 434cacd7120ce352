import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ChevronLeft } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { to } from '../routing/to.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Title } from '../ui/page.tsx'
import { printableLine } from '../ui/printable.ts'
import { ErrorState, LoadingLines } from '../ui/states.tsx'
import { hasNoChanges, NoChanges, NothingChanged, ReviewBar } from './changes.tsx'
import { CommentsBar } from './comments-bar.tsx'
import { Deliveries } from './deliveries.tsx'
import { DiffView, type GoToFile } from './diff-view.tsx'
import { FileTree } from './file-tree.tsx'
import { Signals } from './signals.tsx'
import { useLiveReview } from './use-live-review.ts'

const ProposeChecks = lazy(async () => ({ default: (await import('./propose-checks.tsx')).ProposeChecks }))
const VerificationSection = lazy(async () => ({
  default: (await import('../verification/verification-section.tsx')).VerificationSection,
}))

const route = getRouteApi('/shell/sessions/$sessionId/review')

/** The changes of a Session in full width, with the tree of their files. */
export function ReviewPage() {
  const { sessionId } = route.useParams()
  const session = useSuspenseQuery(sessionQuery(sessionId)).data
  const review = useLiveReview(session)
  const can = useSessionCan(session)('review')
  const goTo: GoToFile = useRef(null)
  const [current, setCurrent] = useState(0)
  const { data } = review
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Title>{`Review of ${session.title}`}</Title>
      <header className="flex min-h-13 shrink-0 items-center gap-2 border-b border-line px-3 lg:px-4">
        <Link
          {...to.session(sessionId, { panel: 'changes' })}
          aria-label="Back to the Session"
          title="Back to the Session"
          className="grid size-9 shrink-0 place-items-center rounded-md text-ink-2 hover:bg-hover"
        >
          <ChevronLeft className="size-5" aria-hidden />
        </Link>
        <h1 dir="auto" className="min-w-0 truncate text-[0.9375rem] font-semibold">
          {printableLine(session.title)}
        </h1>
        <span className="shrink-0 text-xs text-ink-3 max-sm:hidden">{session.source?.label}</span>
      </header>
      <div className="max-h-[35%] shrink-0 overflow-y-auto">
        <Deliveries session={session} />
      </div>
      {!can.allowed ? (
        <NoChanges session={session} reason={can.reason} />
      ) : data === undefined ? (
        review.isError ? (
          <ErrorState error={review.error} retry={() => void review.refetch()} />
        ) : hasNoChanges(session) ? (
          <NoChanges session={session} />
        ) : (
          <LoadingLines label="the changes" />
        )
      ) : data.files.length === 0 ? (
        <NothingChanged session={session} review={data} />
      ) : (
        <>
          <ReviewBar session={session} review={review} data={data} />
          <Suspense>
            <ProposeChecks session={session} />
            <VerificationSection session={session} review={data} />
          </Suspense>
          <Signals sessionId={sessionId} review={data} onGo={(at, line) => goTo.current?.(at, line)} />
          <div className="grid min-h-0 flex-1 lg:grid-cols-[18rem_minmax(0,1fr)]">
            <aside className="flex min-h-0 flex-col border-r border-line bg-surface max-lg:hidden">
              <FileTree sessionId={sessionId} review={data} current={current} onGo={at => goTo.current?.(at)} />
            </aside>
            <DiffView sessionId={sessionId} review={data} goTo={goTo} onCurrent={setCurrent} />
          </div>
          <CommentsBar session={session} review={data} />
        </>
      )}
    </div>
  )
}
