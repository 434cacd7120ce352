import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { Archive, GitBranch, Inbox, Plus, Search, SearchX } from 'lucide-react'
import { sessionsQuery } from '../api/queries.ts'
import { stateFilters, to } from '../routing/to.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { useMinute } from '../ui/clock.ts'
import { Page, Title } from '../ui/page.tsx'
import { EmptyState, ErrorState, LoadingLines } from '../ui/states.tsx'
import { StatusDot } from '../ui/status-dot.tsx'
import { ago, counted } from '../ui/words.ts'
import { FirstRun } from './first-run.tsx'
import { groupSessions, type ListedGroup, type ListedSession } from './grouping.ts'

const route = getRouteApi('/shell/sessions')

const filterLabels: Readonly<Record<(typeof stateFilters)[number], string>> = {
  'needs-you': 'Needs you',
  working: 'Working',
  done: 'Done',
}

/** Every Session of the organization: what waits for people first. */
export function SessionsPage() {
  const search = route.useSearch()
  const archived = search.archived === true
  const list = useInfiniteQuery(sessionsQuery(archived))
  const sessions = list.data?.pages.flatMap(page => page.sessions) ?? []
  const groups = groupSessions(sessions, search, new Map())
  const filtered = search.q !== undefined || search.state !== undefined

  return (
    <Page
      title={archived ? 'Archived Sessions' : 'Sessions'}
      wide
      actions={
        <Link {...to.newSession()} className={buttonClass('primary')}>
          <Plus className="size-4" aria-hidden /> New Session
        </Link>
      }
      below={<Filters />}
    >
      <Title>Sessions</Title>
      <p role="status" className="sr-only">
        {list.isSuccess
          ? counted(
              groups.reduce((sum, group) => sum + group.sessions.length, 0),
              'Session',
            )
          : ''}
      </p>
      {list.isPending && <LoadingLines label="Sessions" />}
      {list.isError && list.data === undefined && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {groups.map(group => (
        <Group key={group.id} group={group} />
      ))}
      {list.isSuccess && groups.length === 0 && <Nothing filtered={filtered} archived={archived} />}
      {list.hasNextPage && (
        <div className="flex justify-center p-4">
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Older Sessions
          </Button>
        </div>
      )}
    </Page>
  )
}

function Filters() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <search className="flex w-full flex-wrap items-center gap-2">
      <label className="flex h-8 min-w-40 flex-1 items-center gap-2 rounded-md border border-control bg-raised px-2.5 focus-within:outline-2 focus-within:outline-accent max-lg:h-9 lg:max-w-72">
        <Search className="size-3.5 text-ink-3" aria-hidden />
        <span className="sr-only">Search by title, repository or branch</span>
        <input
          type="search"
          placeholder="Title, repository, branch"
          defaultValue={search.q ?? ''}
          onChange={event => {
            const q = event.target.value === '' ? undefined : event.target.value
            void navigate({ search: before => ({ ...before, q }), replace: true })
          }}
          className="min-w-0 flex-1 bg-transparent text-[0.8125rem] outline-none max-lg:text-base"
        />
      </label>
      <div role="group" aria-label="Show" className="flex gap-1">
        {stateFilters.map(state => (
          <Link
            key={state}
            from="/sessions"
            to="/sessions"
            search={before => ({ ...before, state: before.state === state ? undefined : state })}
            aria-current={search.state === state ? 'true' : undefined}
            className="flex h-8 items-center rounded-md px-2.5 text-[0.8125rem] whitespace-nowrap text-ink-2 hover:bg-hover aria-[current=true]:bg-selected aria-[current=true]:font-medium aria-[current=true]:text-ink"
          >
            {filterLabels[state]}
          </Link>
        ))}
        <Link
          from="/sessions"
          to="/sessions"
          search={before => ({ ...before, archived: before.archived === true ? undefined : (true as const) })}
          aria-current={search.archived === true ? 'true' : undefined}
          aria-label="Archived"
          title="Archived"
          className="grid size-8 place-items-center rounded-md text-ink-3 hover:bg-hover aria-[current=true]:bg-selected aria-[current=true]:text-ink"
        >
          <Archive className="size-4" aria-hidden />
        </Link>
      </div>
    </search>
  )
}

function Group({ group }: { group: ListedGroup }) {
  return (
    <section aria-labelledby={`group-${group.id}`}>
      <h2
        id={`group-${group.id}`}
        className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-surface px-4 py-1.5 text-xs font-medium text-ink-2 lg:px-6"
      >
        {group.label}
        <span className="font-normal text-ink-3">{group.sessions.length}</span>
      </h2>
      <ul>
        {group.sessions.map(listed => (
          <Item key={listed.session.id} listed={listed} />
        ))}
      </ul>
    </section>
  )
}

function Item({ listed: { session, state } }: { listed: ListedSession }) {
  const now = useMinute()
  const { source, runtime, model } = session
  return (
    <li className="border-b border-line">
      <Link
        {...to.session(session.id)}
        data-list-item
        className="flex min-h-11 items-center gap-3 px-4 py-2 -outline-offset-2 hover:bg-surface lg:px-6"
      >
        <StatusDot state={state} />
        <span className="flex min-w-0 flex-1 flex-col lg:flex-row lg:items-center lg:gap-4">
          <span className="truncate text-sm lg:flex-1">{session.title}</span>
          <span className="flex min-w-0 items-center gap-3 text-xs text-ink-3">
            {source !== undefined && (
              <span className="flex min-w-0 items-center gap-1">
                <GitBranch className="size-3 shrink-0" aria-hidden />
                <span className="truncate">
                  {source.label} · {source.baseBranch}
                </span>
              </span>
            )}
            <span className="truncate max-lg:hidden">{model ?? runtime ?? ''}</span>
          </span>
        </span>
        <span
          className={`shrink-0 text-xs ${state.tone === 'attention' ? 'font-medium text-warning' : state.tone === 'bad' ? 'font-medium text-bad' : 'text-ink-3'}`}
        >
          {state.group === 'done' && state.label === 'Idle' ? '' : state.label}
        </span>
        <time dateTime={session.updatedAt} className="w-13 shrink-0 text-right text-xs text-ink-3 tabular-nums">
          {ago(Date.parse(session.updatedAt), now)}
        </time>
      </Link>
    </li>
  )
}

function Nothing({ filtered, archived }: { filtered: boolean; archived: boolean }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  if (filtered) {
    return (
      <EmptyState
        icon={SearchX}
        title="No Session matches"
        action={
          <Link {...to.sessions()} className={buttonClass()}>
            Show all
          </Link>
        }
      >
        Only what is loaded is searched. Try another word, or look among the archived ones.
      </EmptyState>
    )
  }
  if (archived)
    return (
      <EmptyState icon={Inbox} title="Nothing is archived">
        Archived Sessions stay readable for good.
      </EmptyState>
    )
  return <FirstRun name={viewer.user.name} />
}
