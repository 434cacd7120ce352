import type { OrganizationSettings } from '@berth/contract'
import { Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { IconButton } from '../../ui/button.tsx'
import { Select } from '../../ui/field.tsx'
import { dollars } from '../../ui/format.ts'
import { InlineProblem } from '../../ui/states.tsx'
import { useOrganizationCan } from '../organization-can.ts'
import { useSaveBudget } from './queries.ts'

type Budget = OrganizationSettings['budgets'][number]

const periods: Readonly<Record<string, string>> = { day: 'Today', month: 'This month', total: 'In all' }

const resets = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})

/** The spent share of each budget, and the consequence of reaching it. @param children words for when there is none */
export function BudgetBars({ budgets, children }: { budgets: readonly Budget[]; children: ReactNode }) {
  if (budgets.length === 0) return <p className="text-[0.8125rem] text-ink-2">{children}</p>
  return (
    <ul className="flex flex-col gap-4">
      {budgets.map(budget => (
        <BudgetBar key={`${budget.scope} ${budget.id} ${budget.period} ${budget.setBy}`} budget={budget} />
      ))}
    </ul>
  )
}

function BudgetBar({ budget }: { budget: Budget }) {
  const { name, scope, period, setBy, limitUsd, spentUsd, resetsAt, onReached } = budget
  const share = limitUsd === 0 ? 1 : Math.min(1, spentUsd / limitUsd)
  const fill = share >= 1 ? 'bg-bad' : share >= 0.8 ? 'bg-dot-attention' : 'bg-chart-1'
  const when = periods[period] ?? period
  const title = scope === 'organization' ? when : `${name ?? 'Somebody who left'}, ${when.toLowerCase()}`
  return (
    <li aria-label={title} className="flex flex-col gap-1.5">
      <p className="flex flex-wrap items-baseline gap-x-2 text-[0.8125rem]">
        <span className="font-medium">{title}</span>
        <span className="text-xs text-ink-3">{setBy === 'operator' ? 'set by your operator' : 'set by you'}</span>
        <span className="ml-auto tabular-nums">
          {dollars(spentUsd)} <span className="text-ink-3">of {dollars(limitUsd)}</span>
        </span>
      </p>
      <span aria-hidden className="h-1.5 overflow-hidden rounded-full bg-hover">
        <span className={`block h-full rounded-full ${fill}`} style={{ width: `${share * 100}%` }} />
      </span>
      <p className={`text-xs ${share >= 1 ? 'font-medium text-bad' : 'text-ink-3'}`}>
        {share >= 1
          ? onReached === 'pause'
            ? 'Spent: Runs wait for people. '
            : 'Spent: models refuse requests. '
          : ''}
        {resetsAt === null ? 'It does not reset by itself.' : `Resets ${resets.format(Date.parse(resetsAt))} UTC.`}
        {setBy === 'operator' && onReached === 'pause' && ' Runs that reach it wait for people.'}
      </p>
      {setBy === 'organization' && (period === 'day' || period === 'month') && (
        <Choice budget={{ ...budget, period }} title={title} />
      )}
    </li>
  )
}

/** Chooses the consequence of the organization's own budget, and removes those of people and installations. */
function Choice({ budget, title }: { budget: Budget & { period: 'day' | 'month' }; title: string }) {
  const { scope, id, period, onReached } = budget
  const save = useSaveBudget()
  const verdict = useOrganizationCan()('setBudgets')
  const of = {
    period,
    ...(scope === 'person' && id !== null && { personId: id }),
    ...(scope === 'installation' && id !== null && { installationId: id }),
  }
  return (
    <>
      <div className="flex items-center gap-2">
        <Select
          aria-label={`When it is reached: ${title}`}
          className="max-w-60"
          value={onReached}
          disabled={!verdict.allowed || save.isPending}
          onChange={({ target }) => save.mutate({ ...of, onReached: target.value === 'pause' ? 'pause' : 'refuse' })}
        >
          <option value="refuse">Then refuse Runs</option>
          <option value="pause">Then Runs wait for people</option>
        </Select>
        {id !== null && (
          <IconButton
            label={`Remove the budget of ${title}`}
            disabled={!verdict.allowed || save.isPending}
            onClick={() => save.mutate({ ...of, limitUsd: null })}
          >
            <Trash2 className="size-4" aria-hidden />
          </IconButton>
        )}
      </div>
      <InlineProblem error={save.error} />
    </>
  )
}
