import { GitCompare } from 'lucide-react'
import { ChangedSince } from '../changes/changed-since.tsx'
import { CommentsBar } from '../changes/comments-bar.tsx'
import { DiffView } from '../changes/diff-view.tsx'
import { printableLine } from '../ui/printable.ts'
import { EmptyState, LoadingLines } from '../ui/states.tsx'
import type { Attempt } from './use-attempt.ts'

/** The part of the two changes that is on screen. */
export type View = 'both' | 'a' | 'b' | 'between'

/** The changes of two Sessions: in two columns, one of them alone, or only where they differ. */
export function AttemptDiffs({ attempts: [a, b], shown }: { attempts: readonly [Attempt, Attempt]; shown: View }) {
  if (shown === 'between') return <Between a={a} b={b} />
  const columns = shown === 'both' ? [a, b] : [shown === 'a' ? a : b]
  return (
    <div className={`grid min-h-0 flex-1 ${shown === 'both' ? 'grid-cols-2 divide-x divide-line' : ''}`}>
      {columns.map(attempt => (
        <Column key={attempt.session.id} attempt={attempt} isAlone={columns.length === 1} />
      ))}
    </div>
  )
}

function Column({ attempt: { session, review, revision, problem }, isAlone }: { attempt: Attempt; isAlone: boolean }) {
  return (
    <section aria-label={printableLine(session.title)} className="flex min-h-0 min-w-0 flex-col">
      {revision === null ? (
        <EmptyState icon={GitCompare} title="No changes">
          No Run of this Session has changed a file.
        </EmptyState>
      ) : review === undefined ? (
        problem === null && <LoadingLines label="the changes" />
      ) : (
        <>
          <DiffView sessionId={session.id} review={review} title={isAlone ? undefined : printableLine(session.title)} />
          <CommentsBar session={session} review={review} />
        </>
      )}
    </section>
  )
}

/** The files in which the two differ. Only work on one commit can be compared by its files. */
function Between({ a, b }: { a: Attempt; b: Attempt }) {
  if (a.revision === null || b.revision === null || a.review?.baseOid !== b.review?.baseOid) {
    return (
      <EmptyState icon={GitCompare} title="They cannot be compared by file">
        {a.revision === null || b.revision === null
          ? 'One of them has changed nothing.'
          : 'They began from different commits. Read them side by side.'}
      </EmptyState>
    )
  }
  if (a.review === undefined || b.review === undefined) return <LoadingLines label="the changes" />
  return (
    <div tabIndex={0} role="region" aria-label="Where they differ" className="min-h-0 flex-1 overflow-y-auto p-3">
      <ChangedSince
        sessionId={b.session.id}
        beforeId={a.session.id}
        before={a.review}
        now={b.review}
        labels={{
          none: 'Both have changed the same files to the same text.',
          before: 'only in A',
          now: 'only in B',
          both: 'differs',
        }}
      />
    </div>
  )
}
