import type { Session } from '@berth/client'
import type { EndRow } from '@berth/client/transcript'
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { FileDiff, GitPullRequest } from 'lucide-react'
import { useState } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { ChangeCounts } from '../changes/change-counts.tsx'
import { PublishDialog } from '../changes/publish.tsx'
import { storedReviewQuery } from '../changes/queries.ts'
import { to } from '../routing/to.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'

/** The changes that a Run left; the newest ones with the ways on. */
export function EndChanges({ sessionId, changes }: { sessionId: string; changes: NonNullable<EndRow['changes']> }) {
  const session = useSuspenseQuery(sessionQuery(sessionId)).data
  const isNewest = session.changes?.revision === changes.revision
  // The dialog tells how the delivery ended, after which nothing is left to review.
  const [open, setOpen] = useState(false)
  return (
    <div className="mb-4 flex min-h-11 flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-line bg-surface px-3 py-1.5 text-[0.8125rem]">
      <FileDiff className="size-4 shrink-0 text-ink-3" aria-hidden />
      <ChangeCounts changes={changes} />
      {isNewest && (
        <span className="ml-auto flex items-center gap-2">
          <Link {...to.review(sessionId)} className="rounded-md px-2.5 py-1.5 font-medium hover:bg-hover">
            Review
          </Link>
          {(open || session.status === 'ready_to_review') && (
            <CreatePull session={session} revision={changes.revision} open={open} onOpen={setOpen} />
          )}
        </span>
      )}
    </div>
  )
}

function CreatePull(props: { session: Session; revision: string; open: boolean; onOpen: (open: boolean) => void }) {
  const { session, revision, open, onOpen } = props
  const verdict = useSessionCan(session)('publish')
  const review = useQuery({ ...storedReviewQuery(session.id, revision), enabled: open })
  return (
    <>
      <Button variant="primary" verdict={verdict} busy={open && review.isPending} onClick={() => onOpen(true)}>
        <GitPullRequest className="size-4" aria-hidden /> Create pull request
      </Button>
      <InlineProblem error={review.error} />
      {open && review.data !== undefined && (
        <PublishDialog session={session} review={review.data} onClose={() => onOpen(false)} />
      )}
    </>
  )
}
