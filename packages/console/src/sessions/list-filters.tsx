import { statusLabel } from '@berth/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Archive, Search, User } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import { type SessionListSearch, stateFilters } from '../routing/to.ts'
import { sessionListQuery } from './queries.ts'

const route = getRouteApi('/shell/sessions')

/** While somebody types, the list is asked for after a pause, not for each letter. */
const pauseMs = 200

const chip =
  'flex h-8 items-center gap-1.5 rounded-md px-2.5 text-[0.8125rem] whitespace-nowrap text-ink-2 hover:bg-hover aria-[current]:bg-selected aria-[current]:font-medium aria-[current]:text-ink max-lg:h-9'

/** The filters of the list. They live in the URL, so a view of the list can be kept and shared. */
export function ListFilters() {
  const search = route.useSearch()
  return (
    <search className="flex w-full flex-wrap items-center gap-2">
      {/* Cleared from elsewhere, the box begins anew; its text never comes back from the URL. */}
      <SearchBox key={search.q === undefined ? 'empty' : 'some'} value={search.q ?? ''} />
      <div className="flex min-w-0 items-center gap-1">
        <Toggle on={search.everyone !== true} change={{ everyone: true }} inverse>
          <User className="size-3.5" aria-hidden /> Mine
        </Toggle>
        <Toggle on={search.archived === true} change={{ archived: true }}>
          <Archive className="size-3.5" aria-hidden /> Archived
        </Toggle>
        <RepositoryFilter />
      </div>
      <div
        role="group"
        aria-label="State"
        className="-mx-4 flex min-w-0 basis-full gap-1 overflow-x-auto px-4 py-0.5 lg:-mx-2.5 lg:px-0"
      >
        {stateFilters.map(state => (
          <Toggle key={state} on={search.state === state} change={{ state }}>
            {statusLabel(state)}
          </Toggle>
        ))}
      </div>
    </search>
  )
}

function SearchBox({ value }: { value: string }) {
  const navigate = route.useNavigate()
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined)
  return (
    <label className="flex h-8 min-w-40 flex-1 items-center gap-2 rounded-md border border-control bg-raised px-2.5 focus-within:outline-2 focus-within:outline-accent max-lg:h-9 max-lg:basis-full lg:max-w-64">
      <Search className="size-3.5 text-ink-3" aria-hidden />
      <span className="sr-only">Search by title, repository or branch</span>
      <input
        type="search"
        maxLength={120}
        placeholder="Title, repository, branch"
        defaultValue={value}
        onChange={event => {
          const q = event.target.value.trim() === '' ? undefined : event.target.value
          clearTimeout(pause.current)
          pause.current = setTimeout(() => {
            void navigate({ search: before => ({ ...before, q }), replace: true })
          }, pauseMs)
        }}
        className="min-w-0 flex-1 bg-transparent text-[0.8125rem] outline-none max-lg:text-base"
      />
    </label>
  )
}

/** A link that sets members of the filters, or clears them if they are set; the inverse is on without them. */
function Toggle(props: { on: boolean; change: SessionListSearch; inverse?: true; children: ReactNode }) {
  const { on, change, inverse = false } = props
  const cleared = Object.fromEntries(Object.keys(change).map(key => [key, undefined]))
  return (
    <Link
      from="/sessions"
      to="/sessions"
      search={before => ({ ...before, ...(on === inverse ? change : cleared) })}
      aria-current={on ? 'true' : undefined}
      // Else a link that sets less than the URL has counts as current.
      activeOptions={{ exact: true }}
      className={chip}
    >
      {props.children}
    </Link>
  )
}

/** Offers the repositories of the Sessions that are at hand. */
function RepositoryFilter() {
  const { repository, everyone } = route.useSearch()
  const navigate = route.useNavigate()
  const pages = useInfiniteQuery(sessionListQuery({ everyone })).data?.pages ?? []
  const labels = new Map<string, string>(repository === undefined ? [] : [[repository, 'One repository']])
  for (const { session } of pages.flatMap(page => page.sessions)) {
    if (session.source !== undefined)
      labels.set(`${session.source.kind}:${session.source.repositoryId}`, session.source.label)
  }
  if (labels.size === 0) return null
  return (
    <select
      aria-label="Repository"
      value={repository ?? ''}
      onChange={event => {
        const repository = event.target.value === '' ? undefined : event.target.value
        void navigate({ search: before => ({ ...before, repository }), replace: true })
      }}
      className="ml-1 h-8 max-w-52 shrink-0 rounded-md border border-control bg-raised px-2 text-[0.8125rem] text-ink focus-visible:outline-offset-0 max-lg:h-9 max-lg:text-base"
    >
      <option value="">All repositories</option>
      {[...labels].map(([id, label]) => (
        <option key={id} value={id}>
          {label}
        </option>
      ))}
    </select>
  )
}
