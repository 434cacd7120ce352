import { statusWords } from '@berth/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useAway } from '../live/use-away.ts'
import { to } from '../routing/to.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { counted } from '../ui/format.ts'
import { Page, Title } from '../ui/page.tsx'
import { ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { ArchiveDialog } from './archive-dialog.tsx'
import { EmptyList } from './empty-list.tsx'
import { groupList, type ListedGroup, type ListedSession } from './list-data.ts'
import { ListFilters } from './list-filters.tsx'
import { sessionListQuery } from './queries.ts'
import { SessionRow } from './session-row.tsx'

const route = getRouteApi('/shell/sessions')

/** Every Session of the organization: those that wait for people first. */
export function SessionsPage() {
  const search = route.useSearch()
  const list = useInfiniteQuery(sessionListQuery(search))
  const away = useAway()
  const [archiving, setArchiving] = useState<ListedSession | null>(null)
  const groups = list.data === undefined ? [] : groupList(list.data, search)
  const waiting = groups.find(({ id }) => id === 'needs_you')?.sessions.length ?? 0
  const shown = groups.reduce((sum, { sessions }) => sum + sessions.length, 0)
  return (
    <Page
      title={search.archived === true ? 'Archived Sessions' : 'Sessions'}
      wide
      actions={
        <>
          <p role="status" className="text-xs text-warning">
            {away ? 'Reconnecting…' : ''}
          </p>
          <Link {...to.newSession()} className={buttonClass('primary')}>
            <Plus className="size-4" aria-hidden /> New Session
          </Link>
        </>
      }
      below={<ListFilters />}
    >
      <Title>{waiting === 0 ? 'Sessions' : `(${waiting}) Sessions`}</Title>
      <p role="status" className="sr-only">
        {list.isSuccess ? counted(shown, 'Session') : ''}
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
        {groups.map(group => (
          <Group
            key={group.id}
            group={group}
            label={statusWords(group.id === 'rest' ? (search.state ?? 'recent') : group.id)}
            onArchive={setArchiving}
          />
        ))}
      </div>
      {list.isSuccess && groups.length === 0 && !list.isPlaceholderData && <EmptyList search={search} />}
      {list.hasNextPage && (
        <div className="flex justify-center p-4">
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Older Sessions
          </Button>
        </div>
      )}
      {archiving !== null && <ArchiveDialog listed={archiving} onClose={() => setArchiving(null)} />}
    </Page>
  )
}

function Group(props: { group: ListedGroup; label: string; onArchive: (listed: ListedSession) => void }) {
  const { group, label, onArchive } = props
  const { id, sessions, cut } = group
  return (
    <section aria-labelledby={`group-${id}`}>
      <h2
        id={`group-${id}`}
        className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-surface px-4 py-1.5 text-xs font-medium text-ink-2 lg:px-6"
      >
        {label}
        <span className="font-normal text-ink-3">
          {sessions.length}
          {cut && '+'}
        </span>
        {cut && id !== 'pinned' && id !== 'rest' && (
          <Link
            from="/sessions"
            to="/sessions"
            search={before => ({ ...before, state: id })}
            className="ml-auto underline"
          >
            Show all
          </Link>
        )}
      </h2>
      <ul>
        {sessions.map(listed => (
          <SessionRow key={listed.session.id} listed={listed} onArchive={onArchive} />
        ))}
      </ul>
    </section>
  )
}
