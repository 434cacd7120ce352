import type { Session } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ChevronLeft, GitCompare } from 'lucide-react'
import { useState, useSyncExternalStore } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { to } from '../routing/to.ts'
import { Title } from '../ui/page.tsx'
import { printableLine } from '../ui/printable.ts'
import { EmptyState, ErrorState, LoadingLines } from '../ui/states.tsx'
import { AttemptDiffs, type View } from './attempt-diffs.tsx'
import { AttemptFigures } from './attempt-figures.tsx'
import { type Attempt, useAttempt } from './use-attempt.ts'

const route = getRouteApi('/shell/sessions/$sessionId/compare/$otherId')

/** Compares two Sessions as attempts at one task: the work, the cost and the changes of each. */
export function ComparePage() {
  const { sessionId, otherId } = route.useParams()
  const [a, b] = [useQuery(sessionQuery(sessionId)), useQuery(sessionQuery(otherId))]
  const failed = [a, b].find(({ data, isError }) => data === undefined && isError)
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Title>Compare two Sessions</Title>
      <header className="flex min-h-13 shrink-0 items-center gap-2 border-b border-line px-3 lg:px-4">
        <Link
          {...to.session(sessionId)}
          aria-label="Back to the Session"
          title="Back to the Session"
          className="grid size-9 shrink-0 place-items-center rounded-md text-ink-2 hover:bg-hover"
        >
          <ChevronLeft className="size-5" aria-hidden />
        </Link>
        <h1 className="min-w-0 truncate text-[0.9375rem] font-semibold">Compare two Sessions</h1>
      </header>
      {failed !== undefined ? (
        <ErrorState error={failed.error} retry={() => void failed.refetch()} />
      ) : a.data === undefined || b.data === undefined ? (
        <LoadingLines label="the Sessions" />
      ) : (
        <Compared sessions={[a.data, b.data]} />
      )}
    </div>
  )
}

/** Two columns need so much. */
const wide = matchMedia('(width >= 64rem)')

function onWidth(listener: () => void): () => void {
  wide.addEventListener('change', listener)
  return () => wide.removeEventListener('change', listener)
}

function Compared({ sessions: [first, second] }: { sessions: readonly [Session, Session] }) {
  const attempts = [useAttempt(first), useAttempt(second)] as const
  const [chosen, choose] = useState<View>('both')
  const isWide = useSyncExternalStore(onWidth, () => wide.matches)
  const shown = chosen === 'both' && !isWide ? 'a' : chosen
  const hasNone = attempts.every(({ revision }) => revision === null)
  return (
    <>
      <AttemptFigures attempts={attempts} />
      {hasNone ? (
        <EmptyState icon={GitCompare} title="No changes">
          No Run of either Session has changed a file.
        </EmptyState>
      ) : (
        <>
          <Switch attempts={attempts} shown={shown} onShow={choose} />
          <AttemptDiffs attempts={attempts} shown={shown} />
        </>
      )}
    </>
  )
}

/** Chooses which part of the two changes is shown. Two columns need a wide window. */
function Switch(props: { attempts: readonly Attempt[]; shown: View; onShow: (view: View) => void }) {
  const { shown, onShow } = props
  const views = [
    ['both', 'Side by side'],
    ['a', 'A'],
    ['b', 'B'],
    ['between', 'Where they differ'],
  ] as const
  return (
    <fieldset className="flex shrink-0 gap-1 border-b border-line px-3 py-1.5 text-[0.8125rem]">
      <legend className="sr-only">Changes to show</legend>
      {views.map(([view, label]) => (
        <label
          key={view}
          className={`flex h-8 items-center rounded-md px-2.5 text-ink-2 hover:bg-hover has-checked:bg-selected has-checked:font-medium has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-accent max-lg:h-9 ${view === 'both' ? 'max-lg:hidden' : ''}`}
        >
          <input
            type="radio"
            name="view"
            className="sr-only"
            checked={shown === view}
            onChange={() => onShow(view)}
            aria-label={view === 'a' || view === 'b' ? titleOf(props.attempts[view === 'a' ? 0 : 1]) : undefined}
          />
          {label}
        </label>
      ))}
    </fieldset>
  )
}

const titleOf = (attempt: Attempt | undefined) => `Only ${printableLine(attempt?.session.title ?? '')}`
