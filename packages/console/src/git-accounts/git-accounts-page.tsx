import type { GitConnection } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { GitBranch, Unplug } from 'lucide-react'
import { queryClient } from '../api/queries.ts'
import { Badge } from '../environments/badge.tsx'
import { hostName } from '../organization/git/git-labels.ts'
import { Button } from '../ui/button.tsx'
import { Page, Title } from '../ui/page.tsx'
import { printableLine } from '../ui/printable.ts'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { disconnectAccount, gitAccountsQuery, useConnectAccount } from './queries.ts'

const route = getRouteApi('/shell/settings/git')

/** The person's own accounts at Git hosts. */
export function GitAccountsPage() {
  const { back } = route.useSearch()
  const found = useQuery(gitAccountsQuery)
  const connect = useConnectAccount(back ?? '/settings/git')
  const end = useMutation({
    mutationFn: disconnectAccount,
    onSettled: () => queryClient.invalidateQueries(gitAccountsQuery),
  })
  const { connections = [], hosts = [] } = found.data ?? {}
  const missing = hosts.filter(({ host }) => connections.every(one => one.host !== host))
  return (
    <Page title="Git accounts">
      <Title>Git accounts</Title>
      <p className="mb-5 max-w-prose text-ink-2">
        Some repositories ask who you are at their Git host: you can start Sessions on those that your own account
        reaches, and publish to those that it may push to. Berth keeps your token sealed, uses it to ask the host about
        your access, and shows it to no agent.
      </p>
      <InlineProblem error={connect.error ?? end.error} />
      {found.isPending && <LoadingLines label="your accounts" lines={3} />}
      {found.isError && <ErrorState error={found.error} retry={() => void found.refetch()} />}
      {found.data !== undefined && hosts.length === 0 && connections.length === 0 && (
        <EmptyState icon={GitBranch} title="No Git host knows people here">
          Sessions act in the name of your organization. An operator who wants to let people connect accounts of their
          own gives the App of the Git host a client.
        </EmptyState>
      )}
      {connections.length + missing.length > 0 && (
        <ul aria-label="Git accounts" className="flex flex-col rounded-lg border border-line">
          {connections.map(connection => (
            <Account
              key={connection.id}
              connection={connection}
              busy={connect.isPending || connect.isSuccess || end.isPending}
              onConnect={() => connect.mutate(connection.host)}
              onEnd={() => end.mutate(connection)}
            />
          ))}
          {missing.map(host => (
            <li
              key={host.host}
              className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-3 not-last:border-b not-last:border-line"
            >
              <GitBranch className="size-5 shrink-0 text-ink-3" aria-hidden />
              <span className="min-w-0 flex-1">
                <span className="block font-medium">{hostName(host)}</span>
                <span className="block text-xs text-ink-3">No account is connected.</span>
              </span>
              <Button
                variant="primary"
                busy={connect.isPending || connect.isSuccess}
                onClick={() => connect.mutate(host.host)}
              >
                Connect your account
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Page>
  )
}

function Account(props: { connection: GitConnection; busy: boolean; onConnect: () => void; onEnd: () => void }) {
  const { connection, busy, onConnect, onEnd } = props
  const { login, status, createdAt } = connection
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-3 not-last:border-b not-last:border-line">
      <GitBranch className="size-5 shrink-0 text-ink-3" aria-hidden />
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-center gap-2">
          <span className="truncate font-medium">{printableLine(login)}</span>
          {status === 'expired' ? <Badge tone="warning">Expired</Badge> : <Badge tone="accent">Connected</Badge>}
        </span>
        <span className="block text-xs text-ink-3">
          {hostName(connection)} · since {new Date(createdAt).toLocaleDateString()}
        </span>
      </span>
      {status === 'expired' && (
        <Button variant="primary" busy={busy} aria-label={`Connect ${login} again`} onClick={onConnect}>
          Connect again
        </Button>
      )}
      <Button variant="quiet" busy={busy} aria-label={`Disconnect ${login}`} onClick={onEnd}>
        <Unplug className="size-4" aria-hidden /> Disconnect
      </Button>
    </li>
  )
}
