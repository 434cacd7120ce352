import { statusLabel } from '@berth/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { ChevronRight, Plus } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { useAway } from '../live/use-away.ts'
import { to } from '../routing/to.ts'
import { useSessionsCan } from '../session/use-session-can.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { useMinute } from '../ui/clock.ts'
import { counted } from '../ui/format.ts'
import { Page, Title } from '../ui/page.tsx'
import { ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { ArchiveDialog } from './archive-dialog.tsx'
import { EmptyList } from './empty-list.tsx'
import { byDay, groupList, type ListedSession, mostCounted } from './list-data.ts'
import { ListFilters } from './list-filters.tsx'
import { sessionListQuery } from './queries.ts'
import { SessionRow } from './session-row.tsx'
import { type Selection, useSelection } from './use-selection.ts'

const SnoozeDialog = lazy(async () => ({ default: (await import('./snooze-dialog.tsx')).SnoozeDialog }))

const route = getRouteApi('/shell/sessions')

/** The person's Sessions, or everyone's: those that wait for people first. */
export function SessionsPage() {
  const search = route.useSearch()
  const { viewer } = useRouteContext({ from: '/shell' })
  const now = useMinute()
  const list = useInfiniteQuery(sessionListQuery(search))
  const away = useAway()
  const [archiving, setArchiving] = useState<readonly string[]>([])
  const [snoozing, setSnoozing] = useState<readonly string[]>([])
  const [unfolded, setUnfolded] = useState(false)
  const groups = list.data === undefined ? [] : groupList(list.data, search, viewer.user.id)
  const waiting = groups.find(({ id }) => id === 'needs_you')
  const rest = groups.find(({ id }) => id === 'rest')
  const visible = groups.filter(({ id }) => id !== 'snoozed' || unfolded)
  const shown = visible.flatMap(({ sessions }) => sessions)
  const total = visible.reduce((sum, { sessions, beyond }) => sum + sessions.length + beyond, 0)
  const selection = useSelection(search.archived === true ? [] : shown.map(({ session }) => session.id))
  const selected = shown.filter(({ session }) => selection.ids.has(session.id))
  /** An action on a selected row is done to all of them. */
  const withSelected = ({ session: { id } }: ListedSession) => (selection.ids.has(id) ? [...selection.ids] : [id])
  const archive = (listed: ListedSession) => setArchiving(withSelected(listed))
  const snooze = (listed: ListedSession) => setSnoozing(withSelected(listed))
  const leaving = shown.filter(({ session }) => archiving.includes(session.id))
  const resting = shown.filter(({ session }) => snoozing.includes(session.id))
  // Else the question would come again with a row that comes back.
  if (archiving.length > 0 && leaving.length === 0) setArchiving([])
  const sections = [
    ...groups.filter(group => group !== rest).map(group => ({ ...group, open: false })),
    ...(rest === undefined ? [] : byDay(rest, now)),
  ]
  return (
    <Page
      title={search.archived === true ? 'Archived Sessions' : 'Sessions'}
      wide
      actions={
        <>
          <p role="status" className="text-xs text-warning">
            {away ? 'Reconnecting…' : ''}
          </p>
          <Link {...to.pullRequests()} className={`${buttonClass('quiet')} lg:hidden`}>
            Pull requests
          </Link>
          <Link {...to.newSession()} className={buttonClass('primary')}>
            <Plus className="size-4" aria-hidden /> New Session
          </Link>
        </>
      }
      below={<ListFilters />}
    >
      <Title>{waiting === undefined ? 'Sessions' : `(${waiting.sessions.length + waiting.beyond}) Sessions`}</Title>
      <p role="status" className="sr-only">
        {list.isSuccess ? counted(total, 'Session') : ''}
      </p>
      {list.isPending && <LoadingLines label="Sessions" />}
      {list.isError &&
        (list.data === undefined ? (
          <ErrorState error={list.error} retry={() => void list.refetch()} />
        ) : (
          <div className="p-4">
            <InlineProblem error={list.error} />
          </div>
        ))}
      <div aria-busy={list.isPlaceholderData} className="aria-busy:opacity-60">
        {sections.map(({ id, sessions, beyond, open }) => (
          <section key={id} aria-labelledby={`group-${id}`}>
            <h2
              id={`group-${id}`}
              className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-surface px-4 py-1.5 text-xs font-medium text-ink-2 lg:px-6"
            >
              {id === 'snoozed' ? (
                <button
                  type="button"
                  aria-expanded={unfolded}
                  onClick={() => setUnfolded(!unfolded)}
                  className="flex items-center gap-1"
                >
                  <ChevronRight className={`-ml-1 size-3.5 ${unfolded ? 'rotate-90' : ''}`} aria-hidden />
                  Snoozed
                </button>
              ) : (
                statusLabel(id as 'done')
              )}
              <span className="font-normal text-ink-3 tabular-nums">
                {(sessions.length + beyond).toLocaleString('en')}
                {(open || beyond >= mostCounted) && '+'}
              </span>
              {beyond > 0 && (id === 'needs_you' || id === 'working') && search.state === undefined && (
                <Link {...to.sessions({ ...search, state: id })} className="ml-auto underline">
                  Show all
                </Link>
              )}
            </h2>
            <ul>
              {(id === 'snoozed' && !unfolded ? [] : sessions).map(listed => (
                <SessionRow
                  key={listed.session.id}
                  listed={listed}
                  selection={search.archived === true ? null : selection}
                  onArchive={archive}
                  onSnooze={snooze}
                />
              ))}
            </ul>
          </section>
        ))}
      </div>
      {list.isSuccess && groups.length === 0 && !list.isPlaceholderData && <EmptyList search={search} />}
      {list.hasNextPage && (
        <Older key={list.data?.pages.length} busy={list.isFetchingNextPage} onLoad={() => void list.fetchNextPage()}>
          {rest !== undefined && rest.beyond > 0 && rest.beyond < mostCounted
            ? `${counted(rest.beyond, 'older Session')}`
            : 'Older Sessions'}
        </Older>
      )}
      <SelectionBar selection={selection} selected={selected} onArchive={archive} onSnooze={snooze} />
      {resting.length > 0 && (
        <Suspense>
          <SnoozeDialog listed={resting} onClose={() => setSnoozing([])} />
        </Suspense>
      )}
      {leaving.length > 0 && <ArchiveDialog listed={leaving} onClose={() => setArchiving([])} />}
    </Page>
  )
}

/** Loads the next page as soon as somebody comes near the end of the list. */
function Older({ busy, onLoad, children }: { busy: boolean; onLoad: () => void; children: ReactNode }) {
  const button = useRef<HTMLDivElement>(null)
  const load = useRef(onLoad)
  load.current = onLoad
  useEffect(() => {
    const seen = new IntersectionObserver(([entry]) => entry?.isIntersecting === true && load.current(), {
      root: button.current?.closest('.overflow-y-auto') ?? null,
      rootMargin: '600px',
    })
    if (button.current !== null) seen.observe(button.current)
    return () => seen.disconnect()
  }, [])
  return (
    <div ref={button} className="flex justify-center p-4">
      <Button busy={busy} onClick={onLoad}>
        {children}
      </Button>
    </div>
  )
}

/** The actions for the selected rows. It stays in sight while the list scrolls. */
function SelectionBar(props: {
  selection: Selection
  selected: readonly ListedSession[]
  onArchive: (first: ListedSession) => void
  onSnooze: (first: ListedSession) => void
}) {
  const [first] = props.selected
  return (
    <div className="sticky bottom-3 z-20 flex justify-center px-3">
      <p role="status" className="sr-only">
        {first !== undefined && `${counted(props.selected.length, 'Session')} selected`}
      </p>
      {first !== undefined && <Selected {...props} first={first} />}
    </div>
  )
}

function Selected(props: Parameters<typeof SelectionBar>[0] & { first: ListedSession }) {
  const { selection, selected, first, onArchive, onSnooze } = props
  const [, second] = selected
  const can = useSessionsCan(selected.map(({ session }) => session))
  return (
    <div
      role="toolbar"
      aria-label="Selected Sessions"
      className="flex items-center gap-2 rounded-xl border border-line bg-raised py-1.5 pr-1.5 pl-4 shadow-float max-sm:gap-1 max-sm:pl-3"
    >
      <span className="text-[0.8125rem] whitespace-nowrap tabular-nums sm:mr-2">{selected.length} selected</span>
      <Button variant="quiet" onClick={selection.all} className="max-sm:hidden">
        Select all
      </Button>
      <Button variant="quiet" onClick={selection.clear}>
        Clear
      </Button>
      {second !== undefined && selected.length === 2 ? (
        <Link {...to.compare(second.session.id, first.session.id)} className={buttonClass()}>
          Compare
        </Link>
      ) : (
        <Button hint="above" verdict={{ allowed: false, reason: 'Select two Sessions to compare them.' }}>
          Compare
        </Button>
      )}
      <Button onClick={() => onSnooze(first)}>Snooze…</Button>
      <Button variant="danger" hint="above" verdict={can('archive')} onClick={() => onArchive(first)}>
        Archive…
      </Button>
    </div>
  )
}
