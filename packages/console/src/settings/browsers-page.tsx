import type { BrowserSession } from '@berth/contract'
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { MonitorSmartphone } from 'lucide-react'
import { call } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { useMinute } from '../ui/clock.ts'
import { ago } from '../ui/format.ts'
import { Page, Title } from '../ui/page.tsx'
import { printableLine } from '../ui/printable.ts'
import { ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { browserName } from './browser-name.ts'

const browsersQuery = queryOptions({
  queryKey: ['browsers'],
  queryFn: async ({ signal }) =>
    (await call<{ sessions: readonly BrowserSession[] }>('GET', 'auth/sessions', undefined, signal)).sessions,
})

/** The browsers in which the person is signed in, each of which can be signed out from here. */
export function BrowsersPage() {
  const list = useQuery(browsersQuery)
  const others = list.data?.filter(({ current }) => !current) ?? []
  const end = useMutation({
    mutationFn: async (ids: readonly string[]) => {
      for (const id of ids) await call('DELETE', `auth/sessions/${id}`)
    },
    onSettled: () => queryClient.invalidateQueries(browsersQuery),
  })
  return (
    <Page
      title="Browsers"
      actions={
        others.length > 1 && (
          <Button variant="danger" busy={end.isPending} onClick={() => end.mutate(others.map(({ id }) => id))}>
            Sign out the others
          </Button>
        )
      }
    >
      <Title>Browsers</Title>
      <p className="mb-5 text-ink-2">
        You are signed in to Berth in these browsers. Sign out those that you do not know; what agents do goes on.
      </p>
      {list.isPending && <LoadingLines label="browsers" lines={3} />}
      {list.isError && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      <InlineProblem error={end.error} />
      <ul className="flex flex-col rounded-lg border border-line">
        {list.data?.map(browser => (
          <Browser key={browser.id} browser={browser} busy={end.isPending} onEnd={() => end.mutate([browser.id])} />
        ))}
      </ul>
    </Page>
  )
}

function Browser(props: { browser: BrowserSession; busy: boolean; onEnd: () => void }) {
  const { agent, address, createdAt, lastUsedAt, endsAt, current } = props.browser
  const now = useMinute()
  const used = ago(Date.parse(lastUsedAt), now)
  const name = browserName(agent)
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-3 not-last:border-b not-last:border-line">
      <MonitorSmartphone className="size-5 shrink-0 text-ink-3" aria-hidden />
      <span className="min-w-0 flex-1">
        <span className="flex items-center gap-2" title={agent === null ? undefined : printableLine(agent)}>
          <span className="truncate font-medium">{name}</span>
          {current && (
            <span className="rounded-full bg-good-soft px-2 text-2xs font-medium text-good">This browser</span>
          )}
        </span>
        <span className="block text-xs text-ink-3">
          {address !== null && `${address} · `}
          {used === 'now' ? 'used now' : `used ${used} ago`} · signed in {new Date(createdAt).toLocaleString()} · until{' '}
          {new Date(endsAt).toLocaleString()}
        </span>
      </span>
      {!current && (
        <Button busy={props.busy} aria-label={`Sign out ${name}`} onClick={props.onEnd}>
          Sign out
        </Button>
      )}
    </li>
  )
}
