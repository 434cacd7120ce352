import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { GitPullRequest, SearchX, User, Users } from 'lucide-react'
import type { ReactNode } from 'react'
import { type PullListSearch, pullFilters, to } from '../routing/to.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { counted } from '../ui/format.ts'
import { Page, Title } from '../ui/page.tsx'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { groupByTurn, stateText, turnText } from './pull-labels.ts'
import { PullRow } from './pull-row.tsx'
import { pullRequestsQuery } from './queries.ts'

const route = getRouteApi('/shell/pull-requests')

/** The pull requests of the person's Sessions, or of everyone's: those that wait for a person first. */
export function PullRequestsPage() {
  const search = route.useSearch()
  const { viewer } = useRouteContext({ from: '/shell' })
  const { capabilities } = viewer.membership
  const list = useInfiniteQuery(pullRequestsQuery(search))
  const pulls = list.data?.pages.flatMap(({ pullRequests }) => pullRequests) ?? []
  const groups = groupByTurn(pulls)
  return (
    <Page
      title="Pull requests"
      wide
      actions={
        <Link {...to.sessions()} className={`${buttonClass('quiet')} lg:hidden`}>
          Sessions
        </Link>
      }
      below={<Filters search={search} />}
    >
      <Title>Pull requests</Title>
      <p role="status" className="sr-only">
        {list.isSuccess ? counted(pulls.length, 'pull request') : ''}
      </p>
      {list.isPending && <LoadingLines label="pull requests" />}
      {list.isError &&
        (list.data === undefined ? (
          <ErrorState error={list.error} retry={() => void list.refetch()} />
        ) : (
          <div className="p-4">
            <InlineProblem error={list.error} />
          </div>
        ))}
      <div aria-busy={list.isPlaceholderData} className="aria-busy:opacity-60">
        {groups.map(({ turn, pulls: shown }) => (
          <section key={turn} aria-labelledby={`turn-${turn}`}>
            <h2
              id={`turn-${turn}`}
              className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-surface px-4 py-1.5 text-xs font-medium text-ink-2 lg:px-6"
            >
              {turnText(turn)}
              <span className="font-normal text-ink-3 tabular-nums">
                {shown.length}
                {list.hasNextPage && '+'}
              </span>
            </h2>
            <ul>
              {shown.map(pull => (
                <PullRow
                  key={`${pull.sessionId} ${pull.publicationId}`}
                  pull={pull}
                  mayFollow={capabilities.includes('svc.cloud.publications:create')}
                  mayMerge={capabilities.includes('svc.cloud.merges:create')}
                />
              ))}
            </ul>
          </section>
        ))}
      </div>
      {list.isSuccess && pulls.length === 0 && !list.isPlaceholderData && <Empty search={search} />}
      {list.hasNextPage && (
        <div className="flex justify-center p-4">
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Older pull requests
          </Button>
        </div>
      )}
    </Page>
  )
}

function Empty({ search: { state, everyone } }: { search: PullListSearch }) {
  if (state !== undefined) {
    return (
      <EmptyState
        icon={SearchX}
        title={`No pull request is here: ${stateText(state).toLowerCase()}`}
        action={
          <Link {...to.pullRequests({ everyone })} className={buttonClass()}>
            Show all
          </Link>
        }
      />
    )
  }
  if (everyone === undefined) {
    return (
      <EmptyState
        icon={Users}
        title="None of them is yours"
        action={
          <Link {...to.pullRequests({ everyone: true })} className={buttonClass()}>
            Show everyone’s
          </Link>
        }
      >
        Pull requests that your Sessions publish are listed here, with whose turn it is.
      </EmptyState>
    )
  }
  return (
    <EmptyState icon={GitPullRequest} title="No pull request yet">
      Publish the changes of a Session, and have Berth follow the pull request until it is merged.
    </EmptyState>
  )
}

const chip =
  'flex h-8 items-center gap-1.5 rounded-md px-2.5 text-[0.8125rem] whitespace-nowrap text-ink-2 hover:bg-hover aria-[current]:bg-selected aria-[current]:font-medium aria-[current]:text-ink max-lg:h-9'

/** The filters of the list. They live in the URL, so a view of the list can be kept and shared. */
function Filters({ search }: { search: PullListSearch }) {
  return (
    <search className="-mx-4 flex min-w-0 basis-full gap-1 overflow-x-auto px-4 py-0.5 lg:-mx-2.5 lg:px-0">
      <Chip on={search.everyone !== true} search={{ ...search, everyone: search.everyone === true ? undefined : true }}>
        <User className="size-3.5" aria-hidden /> Mine
      </Chip>
      {pullFilters.map(state => (
        <Chip
          key={state}
          on={search.state === state}
          search={{ ...search, state: search.state === state ? undefined : state }}
        >
          {stateText(state)}
        </Chip>
      ))}
    </search>
  )
}

function Chip({ on, search, children }: { on: boolean; search: PullListSearch; children: ReactNode }) {
  return (
    <Link
      {...to.pullRequests(search)}
      aria-current={on ? 'true' : undefined}
      // Else a link that sets less than the URL has counts as current.
      activeOptions={{ exact: true }}
      className={chip}
    >
      {children}
    </Link>
  )
}
