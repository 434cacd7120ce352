import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import type { AuditSearch } from '../routing/to.ts'
import { inputClass, Select } from '../ui/field.tsx'
import { actionLabel, actorName } from './audit-labels.ts'
import { auditFacetsQuery } from './queries.ts'

const route = getRouteApi('/shell/organization/audit')

/** Chooses entries of the log. All of it is in the URL. */
export function AuditFilters({ search }: { search: AuditSearch }) {
  const navigate = route.useNavigate()
  const { actions, actors } = useQuery(auditFacetsQuery).data ?? { actions: [], actors: [] }
  const families = [...new Set(actions.map(action => action.split('.')[0] ?? action))]
  const change = (changed: AuditSearch) =>
    void navigate({ search: before => ({ ...before, ...changed }), replace: true })
  const value = (text: string) => (text === '' ? undefined : text)
  return (
    <search className="flex flex-wrap items-center gap-2">
      <label className="relative min-w-44 flex-1 sm:max-w-64">
        <span className="sr-only">Search targets</span>
        <Search
          className="pointer-events-none absolute top-1/2 left-2.5 size-3.5 -translate-y-1/2 text-ink-3"
          aria-hidden
        />
        <input
          type="search"
          placeholder="Target or its name"
          defaultValue={search.target ?? ''}
          maxLength={200}
          onChange={({ target }) => change({ target: value(target.value) })}
          className={`${inputClass} h-8 pl-8 max-lg:h-9`}
        />
      </label>
      <Select
        aria-label="Actor"
        className="w-auto! max-w-44 text-[0.8125rem]"
        value={search.actor ?? ''}
        onChange={({ target }) => change({ actor: value(target.value) })}
      >
        <option value="">Anybody</option>
        {withCurrent(
          actors.map(actor => [actor.filter, actorName(actor)] as const),
          search.actor,
        ).map(([filter, name]) => (
          <option key={filter} value={filter}>
            {name}
          </option>
        ))}
      </Select>
      <Select
        aria-label="Action"
        className="w-auto! max-w-48 text-[0.8125rem]"
        value={search.action ?? ''}
        onChange={({ target }) => change({ action: value(target.value) })}
      >
        <option value="">Any action</option>
        {families.map(family => (
          <optgroup key={family} label={actionLabel(family)}>
            <option value={family}>{actionLabel(family)}: anything</option>
            {actions
              .filter(action => action.startsWith(`${family}.`))
              .map(action => (
                <option key={action} value={action}>
                  {actionLabel(action)}
                </option>
              ))}
          </optgroup>
        ))}
        {search.action !== undefined && !actions.includes(search.action) && !families.includes(search.action) && (
          <option value={search.action}>{actionLabel(search.action)}</option>
        )}
      </Select>
      <span className="flex items-center gap-1.5 text-xs text-ink-3">
        <DayInput label="From day" day={search.from} onChange={from => change({ from })} />
        to
        <DayInput label="To day" day={search.to} onChange={to => change({ to })} />
      </span>
    </search>
  )
}

/** The value in the URL is always among the choices. */
function withCurrent(choices: readonly (readonly [string, string])[], current: string | undefined) {
  return current === undefined || choices.some(([filter]) => filter === current)
    ? choices
    : [...choices, [current, current] as const]
}

function DayInput(props: { label: string; day: string | undefined; onChange: (day: string | undefined) => void }) {
  return (
    <input
      type="date"
      aria-label={props.label}
      value={props.day ?? ''}
      onChange={({ target }) => props.onChange(target.value === '' ? undefined : target.value)}
      className="h-8 rounded-md border border-control bg-raised px-2 text-[0.8125rem] text-ink max-lg:h-9"
    />
  )
}
