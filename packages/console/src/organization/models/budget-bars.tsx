import type { OrganizationSettings } from '@berth/contract'
import { dollars } from '../../ui/format.ts'

const periods: Readonly<Record<string, string>> = { day: 'Today', month: 'This month', total: 'In all' }

const resets = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})

/** How much of each budget is spent. */
export function BudgetBars({ budgets }: Pick<OrganizationSettings, 'budgets'>) {
  if (budgets.length === 0)
    return <p className="text-[0.8125rem] text-ink-2">No budget is set: models answer at any cost.</p>
  return (
    <ul className="flex flex-col gap-4">
      {budgets.map(({ period, setBy, limitUsd, spentUsd, resetsAt }) => {
        const share = limitUsd === 0 ? 1 : Math.min(1, spentUsd / limitUsd)
        const look = share >= 1 ? 'bg-bad' : share >= 0.8 ? 'bg-dot-attention' : 'bg-chart-1'
        return (
          <li key={`${period} ${setBy}`} className="flex flex-col gap-1.5">
            <p className="flex flex-wrap items-baseline gap-x-2 text-[0.8125rem]">
              <span className="font-medium">{periods[period] ?? period}</span>
              <span className="text-xs text-ink-3">{setBy === 'operator' ? 'set by your operator' : 'set by you'}</span>
              <span className="ml-auto tabular-nums">
                {dollars(spentUsd)} <span className="text-ink-3">of {dollars(limitUsd)}</span>
              </span>
            </p>
            <span aria-hidden className="h-1.5 overflow-hidden rounded-full bg-hover">
              <span className={`block h-full rounded-full ${look}`} style={{ width: `${share * 100}%` }} />
            </span>
            <p className={`text-xs ${share >= 1 ? 'font-medium text-bad' : 'text-ink-3'}`}>
              {share >= 1 ? 'Spent: models refuse requests. ' : ''}
              {resetsAt === null
                ? 'It does not reset by itself.'
                : `Resets ${resets.format(Date.parse(resetsAt))} UTC.`}
            </p>
          </li>
        )
      })}
    </ul>
  )
}
