import type { GitAccount, GitAccountList, GitConnection } from '@berth/contract'
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { Building2, ExternalLink, RotateCw, User } from 'lucide-react'
import { call } from '../../api/client.ts'
import { gitAccountsQuery, useConnectAccount } from '../../git-accounts/queries.ts'
import type { Verdict } from '../../session/session-can.ts'
import { Button } from '../../ui/button.tsx'
import { Overlay } from '../../ui/overlay.tsx'
import { printableLine } from '../../ui/printable.ts'
import { InlineProblem, LoadingLines } from '../../ui/states.tsx'
import { TickBox } from '../../ui/tick-box.tsx'
import { keptAs } from '../dialogs.ts'
import { useKeptFields } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { refreshConnections } from './git-dialogs.tsx'
import { hostName } from './git-labels.ts'

const accountsQuery = ({ id }: Pick<GitConnection, 'id'>) =>
  queryOptions({
    queryKey: ['git-accounts', id],
    queryFn: () => call<GitAccountList>('GET', `git-connections/${id}/accounts`),
  })

interface DialogProps {
  readonly organizationId: string
  readonly onClose: () => void
}

/** Connects the organization to an account that the person administers at the host, which is asked about that. */
export function ChooseDialog({ organizationId, onClose }: DialogProps) {
  const found = useQuery(gitAccountsQuery)
  const prove = useConnectAccount(`${location.pathname}?dialog=choose`)
  const live = found.data?.connections.filter(({ status }) => status === 'active') ?? []
  const unproven = found.data?.hosts.filter(({ host }) => live.every(one => one.host !== host)) ?? []
  return (
    <Overlay title="Connect an account" onClose={onClose}>
      <div className="flex flex-col gap-4 px-5 pb-5 text-[0.8125rem]">
        {found.isPending && <LoadingLines label="your accounts" lines={3} />}
        <InlineProblem error={found.error ?? prove.error} />
        {live.map(connection => (
          <Accounts key={connection.id} organizationId={organizationId} connection={connection} onClose={onClose} />
        ))}
        {unproven.map(host => (
          <div key={host.host} className="flex flex-col items-start gap-3">
            <p className="text-ink-2">
              Only somebody who administers an account connects it. {hostName(host)} is asked whether you do: sign in
              there, and come back to this dialog.
            </p>
            <Button
              variant="primary"
              busy={prove.isPending || prove.isSuccess}
              onClick={() => prove.mutate(host.host)}
            >{`Continue with ${hostName(host)}`}</Button>
          </div>
        ))}
      </div>
    </Overlay>
  )
}

function Accounts({ organizationId, connection, onClose }: DialogProps & { connection: GitConnection }) {
  const { register, getValues } = useKeptFields(keptAs('choose'), { personalAccess: false })
  const found = useQuery(accountsQuery(connection))
  const add = useMutation({
    mutationFn: (account: string) =>
      call('POST', `git-connections/${connection.id}/accounts`, { account, ...getValues() }),
    onSuccess: () => {
      refreshConnections(organizationId)
      onClose()
    },
  })
  if (found.isPending) return <LoadingLines label="the accounts" lines={3} />
  if (found.data === undefined) return <InlineProblem error={found.error} />
  const { accounts, installUrl } = found.data
  return (
    <>
      <p className="text-ink-2">
        You are <strong className="font-medium text-ink">{printableLine(connection.login)}</strong> at{' '}
        {hostName(connection)}. These accounts have the App installed. Connecting one lets everybody here start Sessions
        on its repositories.
      </p>
      {accounts.length === 0 ? (
        <p className="rounded-md border border-line bg-surface px-3 py-2 text-ink-2">
          The App is installed on no account that you see. Install it first.
        </p>
      ) : (
        <ul aria-label="Accounts" className="flex flex-col rounded-lg border border-line">
          {accounts.map(account => (
            <Account
              key={account.account}
              account={account}
              busy={add.isPending}
              onConnect={() => add.mutate(account.account)}
            />
          ))}
        </ul>
      )}
      <TickBox
        {...register('personalAccess')}
        means="Everybody connects an account once, and reaches here what it reaches at the host."
      >
        Ask people for access of their own
      </TickBox>
      <ActionProblem error={add.error} />
      <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
        <a
          href={installUrl}
          target="_blank"
          rel="noopener noreferrer"
          className="inline-flex items-center gap-1.5 text-accent underline underline-offset-2"
        >
          Install the App on another account <ExternalLink className="size-3.5" aria-hidden />
        </a>
        <span className="text-xs text-ink-3">at {new URL(installUrl).host}</span>
        <Button variant="quiet" className="ml-auto" busy={found.isFetching} onClick={() => void found.refetch()}>
          <RotateCw className="size-3.5" aria-hidden /> Look again
        </Button>
      </div>
    </>
  )
}

function Account({ account, busy, onConnect }: { account: GitAccount; busy: boolean; onConnect: () => void }) {
  const can = useOrganizationCan()('changeConnections')
  const { accountLogin, kind, repositories, administered, connected } = account
  const verdict: Verdict = administered
    ? can
    : { allowed: false, reason: 'The Git host does not say that you administer it. Ask somebody who does.' }
  const Icon = kind === 'organization' ? Building2 : User
  return (
    <li className="flex items-center gap-3 px-3 py-2.5 not-last:border-b not-last:border-line">
      <Icon className="size-4 shrink-0 text-ink-3" aria-hidden />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{printableLine(accountLogin)}</span>
        <span className="block text-xs text-ink-3">
          {kind === 'organization' ? 'Organization' : 'Person'} ·{' '}
          {repositories === 'all' ? 'all repositories' : 'selected repositories'}
        </span>
      </span>
      {connected ? (
        <span className="text-xs text-good">Connected</span>
      ) : (
        <Button aria-label={`Connect ${accountLogin}`} busy={busy} verdict={verdict} onClick={onConnect}>
          Connect
        </Button>
      )}
    </li>
  )
}
