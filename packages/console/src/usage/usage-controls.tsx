import { getRouteApi, Link } from '@tanstack/react-router'
import { type UsageSearch, usageGroupings } from '../routing/to.ts'
import { Select } from '../ui/field.tsx'
import { measures, ranges } from './choices.ts'
import { type Days, rangeLabels } from './days.ts'
import { groupingLabels } from './group-labels.ts'
import { meanings } from './measures.ts'

const route = getRouteApi('/shell/organization/usage')

const choice =
  'flex h-8 items-center rounded-md px-2.5 text-[0.8125rem] whitespace-nowrap text-ink-2 hover:bg-hover [&[aria-current]]:bg-selected [&[aria-current]]:font-medium [&[aria-current]]:text-ink max-lg:h-9'

/** Chooses the subject of the report. All of it is in the URL. */
export function UsageControls(props: { search: UsageSearch; days: Days; administers: boolean; fault: string | null }) {
  const { search, days, administers, fault } = props
  const navigate = route.useNavigate()
  const change = (changed: Partial<UsageSearch>) =>
    void navigate({ search: before => ({ ...before, ...changed }), replace: true })
  const custom = search.from !== undefined && search.to !== undefined
  const { by = 'day', measure = 'cost', whose = 'organization' } = search
  return (
    <search className="flex w-full flex-wrap items-center gap-x-4 gap-y-2">
      <div role="group" aria-label="Group by" className="flex max-w-full gap-1 overflow-x-auto">
        {usageGroupings.map(name => (
          <Link
            key={name}
            from="/organization/usage"
            to="/organization/usage"
            activeOptions={{ exact: true, explicitUndefined: true }}
            search={before => ({ ...before, by: name === 'day' ? undefined : name })}
            aria-current={name === by ? 'true' : undefined}
            className={choice}
          >
            {groupingLabels[name]}
          </Link>
        ))}
      </div>
      <div className="flex flex-wrap items-center gap-2 lg:ml-auto">
        {administers && (
          <Select
            aria-label="Whose usage"
            className="w-auto! text-[0.8125rem]"
            value={whose}
            onChange={({ target }) => change({ whose: target.value === 'me' ? 'me' : undefined })}
          >
            <option value="organization">Everybody</option>
            <option value="me">Only mine</option>
          </Select>
        )}
        <Select
          aria-label="Measure"
          className="w-auto! text-[0.8125rem]"
          value={measure}
          onChange={({ target }) => {
            const chosen = measures.find(name => name === target.value)
            change({ measure: chosen === 'cost' ? undefined : chosen })
          }}
        >
          {measures.map(name => (
            <option key={name} value={name}>
              {meanings[name].label}
            </option>
          ))}
        </Select>
        <Select
          aria-label="Time"
          className="w-auto! text-[0.8125rem]"
          value={custom ? 'custom' : (search.range ?? '30d')}
          onChange={({ target }) => {
            const range = ranges.find(name => name === target.value)
            change(range === undefined ? days : { range, from: undefined, to: undefined })
          }}
        >
          {ranges.map(range => (
            <option key={range} value={range}>
              {rangeLabels[range]}
            </option>
          ))}
          <option value="custom">From day to day</option>
        </Select>
        {custom && (
          <span className="flex items-center gap-1.5 text-xs text-ink-3">
            <DayInput label="First day" value={days.from} fault={fault} onChange={from => change({ from })} />
            to
            <DayInput label="Last day" value={days.to} fault={fault} onChange={to => change({ to })} />
          </span>
        )}
      </div>
    </search>
  )
}

function DayInput(props: { label: string; value: string; fault: string | null; onChange: (day: string) => void }) {
  return (
    <input
      type="date"
      aria-label={props.label}
      aria-invalid={props.fault !== null || undefined}
      value={props.value}
      onChange={({ target }) => target.value !== '' && props.onChange(target.value)}
      className="h-8 rounded-md border border-control bg-raised px-2 text-[0.8125rem] text-ink aria-invalid:border-bad max-lg:h-9"
    />
  )
}
