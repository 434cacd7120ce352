import { useInfiniteQuery } from '@tanstack/react-query'
import { groupList } from './list-data.ts'
import { sessionListQuery } from './queries.ts'

/** How many Sessions wait for people; nothing if none does. */
export function WaitingCount() {
  const { data } = useInfiniteQuery(sessionListQuery({}))
  const group = data === undefined ? undefined : groupList(data, {}).find(({ id }) => id === 'needs-you')
  if (group === undefined) return null
  return (
    <span className="ml-auto grid h-4.5 min-w-4.5 place-items-center rounded-full bg-warning-soft px-1.5 text-2xs font-medium text-warning tabular-nums">
      <span aria-hidden>
        {group.sessions.length}
        {group.cut && '+'}
      </span>
      <span className="sr-only">{`, ${group.sessions.length} need you`}</span>
    </span>
  )
}
