import { statusLabel } from '@berth/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { Hand, Hourglass, Inbox, Plus, SearchX, Users } from 'lucide-react'
import { type SessionListSearch, to } from '../routing/to.ts'
import { buttonClass } from '../ui/button.tsx'
import { EmptyState } from '../ui/states.tsx'
import { FirstRun } from './first-run.tsx'
import { sessionListQuery } from './queries.ts'

/** A list without Sessions: why it is empty, and a way on. */
export function EmptyList({ search }: { search: SessionListSearch }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const { state, archived, everyone, ...others } = search
  const showAll = (
    <Link {...to.sessions(everyone && { everyone })} className={buttonClass()}>
      Show all
    </Link>
  )
  const elsewhere = useInfiniteQuery({
    ...sessionListQuery({ ...search, everyone: true }),
    enabled: everyone === undefined,
  })
  if (elsewhere.isLoading || elsewhere.isPlaceholderData) return null
  if (everyone === undefined && elsewhere.data?.pages[0]?.sessions.length) {
    return (
      <EmptyState
        icon={Users}
        title="None of them is yours"
        action={
          <Link {...to.sessions({ ...search, everyone: true })} className={buttonClass()}>
            Show everyone’s
          </Link>
        }
      >
        Others of your organization, or its integrations, have started such Sessions.
      </EmptyState>
    )
  }
  if (Object.values(others).some(value => value !== undefined)) {
    return (
      <EmptyState icon={SearchX} title="No Session matches" action={showAll}>
        Each word has to be in the title, the repository, the branch or the id. Try fewer filters
        {archived === true ? '.' : ', or look among the archived ones.'}
      </EmptyState>
    )
  }
  if (archived === true) {
    return (
      <EmptyState icon={Inbox} title="Nothing is archived" action={showAll}>
        Archived Sessions stay readable for good.
      </EmptyState>
    )
  }
  if (state === 'needs_you') {
    return (
      <EmptyState icon={Hand} title="Nothing waits for you" action={showAll}>
        A Session shows up here when its agent asks a question, has a plan, or wants to be allowed something.
      </EmptyState>
    )
  }
  if (state === 'working') {
    return (
      <EmptyState
        icon={Hourglass}
        title="No agent is working"
        action={
          <Link {...to.newSession()} className={buttonClass('primary')}>
            <Plus className="size-4" aria-hidden /> New Session
          </Link>
        }
      >
        Start a Session, and follow it here.
      </EmptyState>
    )
  }
  if (state !== undefined) {
    return <EmptyState icon={Inbox} title={`No Session is here: ${statusLabel(state)}`} action={showAll} />
  }
  return <FirstRun name={viewer.user.name} />
}
