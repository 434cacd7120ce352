import { useInfiniteQuery } from '@tanstack/react-query'
import { groupList, type ListData } from './list-data.ts'
import { sessionListQuery } from './queries.ts'

function waitingIn(data: ListData) {
  const group = groupList(data, {}).find(({ id }) => id === 'needs_you')
  return { count: group?.sessions.length ?? 0, cut: group?.cut === true }
}

/** Returns how many Sessions wait for people, and whether there are more than that. */
export function useWaitingCount(): { readonly count: number; readonly cut: boolean } {
  const { data } = useInfiniteQuery({ ...sessionListQuery({}), select: waitingIn })
  return data ?? { count: 0, cut: false }
}

/** How many Sessions wait for people; nothing if none does. */
export function WaitingCount() {
  const { count, cut } = useWaitingCount()
  if (count === 0) return null
  return (
    <span className="ml-auto grid h-4.5 min-w-4.5 place-items-center rounded-full bg-warning-soft px-1.5 text-2xs font-medium text-warning tabular-nums">
      <span aria-hidden>
        {count}
        {cut && '+'}
      </span>
      <span className="sr-only">{`, ${count} need you`}</span>
    </span>
  )
}
