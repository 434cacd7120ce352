import type { Connection } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { FolderGit2, GitBranch, Plus, Unplug, Users } from 'lucide-react'
import { Badge } from '../../environments/badge.tsx'
import { gitAccountsQuery } from '../../git-accounts/queries.ts'
import { Button } from '../../ui/button.tsx'
import { counted } from '../../ui/format.ts'
import { printableLine } from '../../ui/printable.ts'
import { EmptyState, ErrorState, LoadingLines } from '../../ui/states.tsx'
import { type Dialog, useDialog } from '../dialogs.ts'
import { Part } from '../limits/limits-page.tsx'
import { settingsQuery } from '../limits/queries.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { ChooseDialog } from './choose-dialog.tsx'
import { CommitsForm } from './commits-form.tsx'
import { FollowUpsForm } from './follow-ups-form.tsx'
import { AccessDialog, ConnectDialog, DisconnectDialog } from './git-dialogs.tsx'
import { accountKey, hostName } from './git-labels.ts'
import { connectionsQuery, type GitAccount } from './queries.ts'

/** Repositories of an account that are named one by one. */
const namedRepositories = 12

/** Which accounts of Git hosts the people of the organization work with. */
export function GitPage() {
  return (
    <SectionPage title="Git hosts" needs="administrator" reading actions={<Connect>Connect an account</Connect>}>
      <div className="flex flex-col gap-8">
        <Connections />
        <Forms />
      </div>
    </SectionPage>
  )
}

function Forms() {
  const settings = useQuery(settingsQuery)
  if (settings.isPending) return <LoadingLines label="how commits and pull requests are made" />
  if (settings.data === undefined) {
    return <ErrorState error={settings.error} retry={() => void settings.refetch()} />
  }
  return (
    <>
      <CommitsForm commits={settings.data.commits} />
      <FollowUpsForm followUps={settings.data.followUps} />
    </>
  )
}

function Connections() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const dialog = useDialog()
  const found = useQuery(connectionsQuery(organizationId))
  if (found.isPending) return <LoadingLines label="the connections" />
  if (found.data === undefined) return <ErrorState error={found.error} retry={() => void found.refetch()} />
  const { connections, available } = found.data
  const chosen = connections.find(({ id }) => id === dialog.of)
  const wanted = available.find(account => accountKey(account) === dialog.of)
  const about = { organizationId, onClose: dialog.close }
  return (
    <div className="flex flex-col gap-8">
      <Part
        title="Connected"
        about="People start Sessions on these repositories. Sessions read, push and merge in the name of the connection. Where you ask for access of their own, the Git host decides who may."
      >
        {connections.length === 0 ? (
          <EmptyState
            icon={FolderGit2}
            title="No account is connected"
            action={<Connect>Connect the first account</Connect>}
          >
            Until one is, Sessions start without a repository.
          </EmptyState>
        ) : (
          <ul className="border-t border-line">
            {connections.map(connection => (
              <Connected key={connection.id} connection={connection} dialog={dialog} />
            ))}
          </ul>
        )}
      </Part>
      {available.length > 0 && (
        <Part
          title="Within reach"
          about="Apps of your organization work with these accounts. Connecting one lets your people start Sessions on the same repositories."
        >
          <ul className="border-t border-line">
            {available.map(account => (
              <Available key={accountKey(account)} account={account} dialog={dialog} />
            ))}
          </ul>
        </Part>
      )}
      <Unreachable organizationId={organizationId} />
      {dialog.name === 'disconnect' && chosen !== undefined && <DisconnectDialog {...about} connection={chosen} />}
      {dialog.name === 'access' && chosen !== undefined && <AccessDialog {...about} connection={chosen} />}
      {dialog.name === 'choose' && <ChooseDialog {...about} />}
      {dialog.name === 'connect' && wanted !== undefined && <ConnectDialog {...about} account={wanted} />}
    </div>
  )
}

/** Leads to an account that nothing of the organization reaches yet; nothing where the service is no client of a host. */
function Connect({ children }: { children: string }) {
  const can = useOrganizationCan()
  const dialog = useDialog()
  const { data } = useQuery({ ...gitAccountsQuery, enabled: can('changeConnections').allowed })
  if (data === undefined || data.hosts.length === 0) return null
  return (
    <Button variant="primary" verdict={can('changeConnections')} onClick={() => dialog.open('choose')}>
      <Plus className="size-4" aria-hidden /> {children}
    </Button>
  )
}

function Unreachable({ organizationId }: { organizationId: string }) {
  const found = useQuery(gitAccountsQuery).data
  if (found === undefined || found.hosts.length > 0) return null
  return (
    <Part
      title="Another account"
      about="This service has no client at a Git host, so nobody can show here which accounts they administer. An operator connects the first one, at a terminal:"
    >
      <pre className="rounded-lg border border-line bg-code px-3 py-2 font-mono text-xs break-words whitespace-pre-wrap">
        {`berth admin grant add --organization ${organizationId} --account <number>`}
      </pre>
    </Part>
  )
}

function Connected({ connection, dialog }: { connection: Connection; dialog: Dialog }) {
  const can = useOrganizationCan()
  const { id, accountLogin, provider, allRepositories, personalAccess, repositories } = connection
  const named = repositories.slice(0, namedRepositories)
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 border-b border-line py-3">
      <div className="flex min-w-0 flex-1 flex-col gap-2">
        <p className="flex flex-wrap items-center gap-2 text-[0.8125rem]">
          <GitBranch className="size-4 text-ink-3" aria-hidden />
          <span className="font-medium">{printableLine(accountLogin)}</span>
          <span className="text-ink-3">{hostName(connection)}</span>
          <Badge tone="quiet">
            {allRepositories
              ? 'All repositories, later ones too'
              : counted(repositories.length, 'repository', 'repositories')}
          </Badge>
          {personalAccess && <Badge tone="accent">With access of their own</Badge>}
        </p>
        {named.length > 0 && (
          <ul aria-label={`Repositories of ${accountLogin}`} className="flex flex-wrap gap-1.5 text-xs text-ink-2">
            {named.map(({ grantId, fullName }) => (
              <li key={grantId} className="rounded-md bg-code px-2 py-0.5 font-mono">
                {printableLine(fullName)}
              </li>
            ))}
            {repositories.length > named.length && (
              <li className="py-0.5">and {(repositories.length - named.length).toLocaleString('en')} more</li>
            )}
          </ul>
        )}
      </div>
      {(personalAccess || provider !== 'local') && (
        <Button
          variant="quiet"
          aria-label={`Access to ${accountLogin}`}
          verdict={can('changeConnections')}
          onClick={() => dialog.open('access', id)}
        >
          <Users className="size-4" aria-hidden /> Access
        </Button>
      )}
      <Button
        variant="quiet"
        aria-label={`Disconnect ${accountLogin}`}
        verdict={can('changeConnections')}
        onClick={() => dialog.open('disconnect', id)}
      >
        <Unplug className="size-4" aria-hidden /> Disconnect
      </Button>
    </li>
  )
}

function Available({ account, dialog }: { account: GitAccount; dialog: Dialog }) {
  const can = useOrganizationCan()
  return (
    <li className="flex items-center gap-3 border-b border-line py-3 text-[0.8125rem]">
      <span className="min-w-0 flex-1 truncate">
        <span className="font-medium">{printableLine(account.accountLogin)}</span>{' '}
        <span className="text-ink-3">{hostName(account)}</span>
      </span>
      <Button
        aria-label={`Connect ${account.accountLogin}`}
        verdict={can('changeConnections')}
        onClick={() => dialog.open('connect', accountKey(account))}
      >
        Connect
      </Button>
    </li>
  )
}
