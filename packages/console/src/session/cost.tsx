import type { Session, SessionCost } from '@berth/contract'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { dollars } from '../ui/format.ts'
import { useLog } from './logs.ts'

/** While the agent works, its requests count as they end, which no Event tells. */
const againMs = 10_000

/** @param changed sequence of the Event after which the cost is another */
export const costQuery = (sessionId: string, changed: number) =>
  queryOptions({
    queryKey: ['session', sessionId, 'cost', changed],
    queryFn: ({ signal }) => call<SessionCost>('GET', `sessions/${sessionId}/cost`, undefined, signal),
    placeholderData: before => before,
  })

const owners: Readonly<Record<string, string>> = {
  person: 'The person of this Session',
  installation: 'The installation of this Session',
  organization: 'The organization',
}
const ownerOf = (scope: string) => owners[scope] ?? scope

/** The cost of the Session, and of the bounds that hold for it the one that is nearest: its own budget, or its Run's. */
export function Cost({ session }: { session: Pick<Session, 'id' | 'activeRunId' | 'budget'> }) {
  const changed = useLog(session.id, ({ view }) => view.changedAt)
  const isActive = session.activeRunId !== undefined
  const { data } = useQuery({ ...costQuery(session.id, changed), refetchInterval: isActive ? againMs : false })
  if (data === undefined) return null
  const { costUsd, costComplete, cacheHitRatio = 0, run, near } = data
  const { budget } = session
  const bounds = [
    ...(run === null || run.limitUsd === null
      ? []
      : [{ whose: 'This Run', spentUsd: run.costUsd, limitUsd: run.limitUsd }]),
    // The Session is read now and then, and a request whose cost was lost counts in its budget alone.
    ...(budget === null
      ? []
      : [{ whose: 'This Session', spentUsd: Math.max(budget.spentUsd, costUsd), limitUsd: budget.costUsd }]),
    ...near.flatMap(({ scope, spentUsd, limitUsd }) =>
      spentUsd === undefined || limitUsd === undefined ? [] : [{ whose: ownerOf(scope), spentUsd, limitUsd }],
    ),
  ].toSorted((a, b) => b.spentUsd * a.limitUsd - a.spentUsd * b.limitUsd)
  const [nearest] = bounds
  const hidden = near.filter(({ spentUsd }) => spentUsd === undefined)
  if (costUsd === 0 && nearest === undefined && hidden.length === 0) return null
  const total = `${costComplete ? '' : 'at least '}${dollars(costUsd)}`
  const about = [
    ...bounds.map(
      ({ whose, spentUsd, limitUsd }) => `${whose} has spent ${dollars(spentUsd)} of ${dollars(limitUsd)} for models.`,
    ),
    ...hidden.map(({ scope }) => `${ownerOf(scope)} has spent most of a budget for models.`),
    `The Session has cost ${total}. ${Math.round(cacheHitRatio * 100)}% of what its models read came from caches.`,
  ]
  const isNear = hidden.length > 0 || (nearest !== undefined && nearest.spentUsd >= nearest.limitUsd * 0.8)
  return (
    <span
      className={`px-1 text-xs tabular-nums max-sm:hidden ${isNear ? 'font-medium text-warning' : 'text-ink-3'}`}
      title={about.join(' ')}
    >
      {nearest === undefined ? total : `${dollars(nearest.spentUsd)} of ${dollars(nearest.limitUsd)}`}
    </span>
  )
}
