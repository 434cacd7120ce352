import type { Session, SessionCost } from '@berth/contract'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { dollars } from '../ui/format.ts'
import { useLog } from './logs.ts'

/** While the agent works, its requests count as they end, which no Event tells. */
const againMs = 10_000

/** @param changed sequence of the Event after which the cost is another */
const costQuery = (sessionId: string, changed: number) =>
  queryOptions({
    queryKey: ['session', sessionId, 'cost', changed],
    queryFn: ({ signal }) => call<SessionCost>('GET', `sessions/${sessionId}/cost`, undefined, signal),
    placeholderData: before => before,
  })

/** The cost of the Session; while the agent works, the cost and the budget of its Run. */
export function Cost({ session }: { session: Pick<Session, 'id' | 'activeRunId'> }) {
  const changed = useLog(session.id, ({ view }) => view.changedAt)
  const isActive = session.activeRunId !== undefined
  const { data } = useQuery({ ...costQuery(session.id, changed), refetchInterval: isActive ? againMs : false })
  if (data === undefined) return null
  const { costUsd, costComplete, cacheHitRatio = 0, run } = data
  const limit = run?.limitUsd ?? null
  if (costUsd === 0 && limit === null) return null
  const total = `${costComplete ? '' : 'at least '}${dollars(costUsd)}`
  const cached = `${Math.round(cacheHitRatio * 100)}% of what its models read came from caches.`
  const isNear = run !== null && limit !== null && run.costUsd >= limit * 0.8
  return (
    <span
      className={`px-1 text-xs tabular-nums max-sm:hidden ${isNear ? 'font-medium text-warning' : 'text-ink-3'}`}
      title={
        run === null || limit === null
          ? `This Session has cost ${total}. ${cached}`
          : `This Run has spent ${dollars(run.costUsd)} of the ${dollars(limit)} that it may. The Session has cost ${total}. ${cached}`
      }
    >
      {run === null || limit === null ? total : `${dollars(run.costUsd)} of ${dollars(limit)}`}
    </span>
  )
}
