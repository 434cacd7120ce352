import type { Environment } from '@berth/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Archive, Boxes, KeyRound, Plus, TriangleAlert } from 'lucide-react'
import { to } from '../routing/to.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { useMinute } from '../ui/clock.ts'
import { ago, counted } from '../ui/format.ts'
import { LearnMore } from '../ui/learn-more.tsx'
import { Page, Title } from '../ui/page.tsx'
import { EmptyState, ErrorState, LoadingLines } from '../ui/states.tsx'
import { Badge } from './badge.tsx'
import { environmentsQuery } from './queries.ts'

const route = getRouteApi('/shell/environments')

/** The environments of the organization by name. */
export function EnvironmentsPage() {
  const archived = route.useSearch().archived === true
  const list = useInfiniteQuery(environmentsQuery(archived))
  const environments = list.data?.pages.flatMap(page => page.environments) ?? []
  return (
    <Page
      title={archived ? 'Archived environments' : 'Environments'}
      wide
      actions={
        <>
          <LearnMore about="environments" docs="environments" />
          <Link
            {...to.environments(archived ? {} : { archived: true })}
            aria-current={archived ? 'true' : undefined}
            aria-label="Archived"
            title="Archived"
            className="grid size-8 place-items-center rounded-md text-ink-3 hover:bg-hover aria-[current=true]:bg-selected aria-[current=true]:text-ink"
          >
            <Archive className="size-4" aria-hidden />
          </Link>
          <Link {...to.newEnvironment()} className={buttonClass('primary')}>
            <Plus className="size-4" aria-hidden /> New environment
          </Link>
        </>
      }
    >
      <Title>Environments</Title>
      <p role="status" className="sr-only">
        {list.isSuccess ? counted(environments.length, 'environment') : ''}
      </p>
      {list.isPending && <LoadingLines label="environments" />}
      {list.isError && list.data === undefined && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      <ul>
        {environments.map(environment => (
          <Item key={environment.id} environment={environment} />
        ))}
      </ul>
      {list.isSuccess && environments.length === 0 && <Nothing archived={archived} />}
      {list.hasNextPage && (
        <div className="flex justify-center p-4">
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            More environments
          </Button>
        </div>
      )}
    </Page>
  )
}

function Item({ environment }: { environment: Environment }) {
  const now = useMinute()
  const { document, secrets, warnings } = environment
  const facts = [
    document.setup === ''
      ? null
      : counted(document.setup.trimEnd().split('\n').length, 'line of setup', 'lines of setup'),
    Object.keys(document.variables).length === 0 ? null : counted(Object.keys(document.variables).length, 'variable'),
    document.repositories.length === 0 ? null : counted(document.repositories.length, 'repository', 'repositories'),
    document.extensions.length === 0 ? null : counted(document.extensions.length, 'extension'),
  ].filter(fact => fact !== null)
  return (
    <li className="border-b border-line">
      <Link
        {...to.environment(environment.id)}
        data-list-item
        className="flex min-h-14 items-center gap-3 px-4 py-2 -outline-offset-2 hover:bg-surface lg:px-6"
      >
        <span className="flex min-w-0 flex-1 flex-col gap-0.5">
          <span className="flex items-center gap-2">
            <span className="truncate text-sm font-medium">{environment.name}</span>
            {environment.isDefault && <Badge tone="accent">Default</Badge>}
          </span>
          <span className="truncate text-xs text-ink-3">
            {[document.description, ...facts].filter(text => text !== '').join(' · ') || 'Empty'}
          </span>
        </span>
        {warnings.length > 0 && (
          <span className="flex items-center gap-1 text-xs text-warning">
            <TriangleAlert className="size-3.5" aria-hidden />
            <span className="max-sm:sr-only">{counted(warnings.length, 'warning')}</span>
          </span>
        )}
        {secrets.length > 0 && (
          <span className="flex items-center gap-1 text-xs text-ink-3" title={counted(secrets.length, 'secret')}>
            <KeyRound className="size-3.5" aria-hidden /> {secrets.length}
            <span className="sr-only"> secrets</span>
          </span>
        )}
        <span className="w-24 shrink-0 text-right text-xs text-ink-3 tabular-nums max-sm:w-14">
          <span className="max-sm:hidden">rev {environment.revision}, </span>
          {ago(Date.parse(environment.createdAt), now)}
        </span>
      </Link>
    </li>
  )
}

function Nothing({ archived }: { archived: boolean }) {
  if (archived)
    return (
      <EmptyState icon={Archive} title="Nothing is archived">
        Archived environments stay readable, and Sessions that are bound to them go on.
      </EmptyState>
    )
  return (
    <EmptyState
      icon={Boxes}
      title="No environments yet"
      action={
        <Link {...to.newEnvironment()} className={buttonClass('primary')}>
          <Plus className="size-4" aria-hidden /> Write the first environment
        </Link>
      }
    >
      An environment says how fresh sandboxes are set up: a script that installs what your project needs, variables,
      secrets, and directories to keep. Make one the default, and every new Session of a person starts with it.
    </EmptyState>
  )
}
