import { useInfiniteQuery } from '@tanstack/react-query'
import { groupList, type ListData } from './list-data.ts'
import { sessionListQuery } from './queries.ts'

function waitingIn(data: ListData) {
  // They wait for everybody, so it does not matter who looks.
  const group = groupList(data, {}, '').find(({ id }) => id === 'needs_you')
  return (group?.sessions.length ?? 0) + (group?.beyond ?? 0)
}

/** Returns how many Sessions wait for people. */
export function useWaitingCount(): number {
  return useInfiniteQuery({ ...sessionListQuery({}), select: waitingIn }).data ?? 0
}

/** How many Sessions wait for people; nothing if none does. */
export function WaitingCount() {
  const count = useWaitingCount()
  if (count === 0) return null
  return (
    <span className="ml-auto grid h-4.5 min-w-4.5 place-items-center rounded-full bg-warning-soft px-1.5 text-2xs font-medium text-warning tabular-nums">
      <span aria-hidden>{count}</span>
      <span className="sr-only">{`, ${count} need you`}</span>
    </span>
  )
}
