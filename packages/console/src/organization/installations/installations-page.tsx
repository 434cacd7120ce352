import type { Installation } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { Blocks, Pencil, Trash2 } from 'lucide-react'
import { call } from '../../api/client.ts'
import { Badge } from '../../environments/badge.tsx'
import { IconButton } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Day } from '../../ui/dates.tsx'
import { Listing, useListingSearch } from '../../ui/listing.tsx'
import { printableLine } from '../../ui/printable.ts'
import { EmptyState, ErrorState, LoadingLines } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { grantSummary } from '../access/capability-labels.ts'
import { ChangeGrant } from '../access/change-grant.tsx'
import { installationsQuery, refreshAccess } from '../access/queries.ts'
import { type Dialog, useDialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { ActionProblem } from '../step-up.tsx'

/** The apps that somebody of the organization has installed, with the capabilities of each. */
export function InstallationsPage() {
  return (
    <SectionPage title="Installed apps" needs="organization.integrations.manage">
      <Installations dialog={useDialog()} />
    </SectionPage>
  )
}

function Installations({ dialog }: { dialog: Dialog }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const [{ ended }, change] = useListingSearch()
  const list = useQuery(installationsQuery(organizationId))
  if (list.isPending) return <LoadingLines label="installed apps" />
  if (list.data === undefined) return <ErrorState error={list.error} retry={() => void list.refetch()} />
  // Integrations have pages of their own.
  const all = list.data.filter(({ kind }) => kind === 'app')
  const shown = all.filter(({ revokedAt }) => ended === true || revokedAt === undefined)
  const chosen = all.find(({ id }) => id === dialog.of)
  if (all.length === 0) {
    return (
      <EmptyState icon={Blocks} title="No apps are installed">
        An app asks for an installation by a link. Whoever manages integrations here sees on that page what the app
        wants, and allows or refuses it.
      </EmptyState>
    )
  }
  return (
    <>
      <Listing
        label="Installed apps"
        noun={['installation', 'installations']}
        columns={columnsOf(dialog)}
        rows={shown}
        keyOf={({ id }) => id}
        textOf={({ app, appName = '', name = '', id }) => `${app} ${appName} ${name} ${id}`}
      >
        <label className="flex min-h-8 items-center gap-2 text-[0.8125rem] text-ink-2">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={ended === true}
            onChange={event => change({ ended: event.target.checked || undefined, page: undefined })}
          />
          Revoked ones too
        </label>
      </Listing>
      {dialog.name === 'grant' && chosen !== undefined && (
        <ChangeGrant
          key={chosen.id}
          organizationId={organizationId}
          installation={{ ...chosen, name: nameOf(chosen) }}
          onClose={dialog.close}
        />
      )}
      {dialog.name === 'revoke' && chosen !== undefined && (
        <Revoke organizationId={organizationId} installation={chosen} onClose={dialog.close} />
      )}
    </>
  )
}

/** Apps are called by their name; one that was deleted has only its slug left. */
const nameOf = ({ app, appName }: Installation): string => printableLine(appName ?? app)

const columnsOf = (dialog: Dialog): readonly Column<Installation>[] => [
  {
    id: 'app',
    header: 'App',
    cell: installation => (
      <span className="block min-w-0" title={`${installation.app} ${installation.id}`}>
        <span className="block truncate font-medium">{nameOf(installation)}</span>
        <span className="block truncate text-xs text-ink-3">{grantSummary(installation.capabilities)}</span>
      </span>
    ),
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ revokedAt }) =>
      revokedAt === undefined ? (
        <span className="text-ink-2">Active</span>
      ) : (
        <span className="flex items-center gap-2 text-ink-3">
          <Badge tone="quiet">Revoked</Badge>
          <span className="max-sm:hidden">
            <Day at={revokedAt} />
          </span>
        </span>
      ),
  },
  {
    id: 'since',
    header: 'Since',
    className: 'max-sm:hidden',
    cell: ({ createdAt }) => (
      <span className="text-ink-2">
        <Day at={createdAt} />
      </span>
    ),
  },
  {
    id: 'actions',
    header: 'Actions',
    quiet: true,
    cell: installation =>
      installation.revokedAt === undefined && (
        <span className="flex justify-end">
          <IconButton
            label={`Change what ${nameOf(installation)} may do`}
            onClick={() => dialog.open('grant', installation.id)}
          >
            <Pencil className="size-4" aria-hidden />
          </IconButton>
          <IconButton label={`Revoke ${nameOf(installation)}`} onClick={() => dialog.open('revoke', installation.id)}>
            <Trash2 className="size-4" aria-hidden />
          </IconButton>
        </span>
      ),
  },
]

function Revoke(props: { organizationId: string; installation: Installation; onClose: () => void }) {
  const { organizationId, installation, onClose } = props
  const can = useOrganizationCan()
  const revoke = useMutation({
    mutationFn: () => call('DELETE', `account/installations/${installation.id}`),
    onSuccess: () => {
      onClose()
      refreshAccess(organizationId)
    },
  })
  return (
    <Confirm
      title={`Revoke ${nameOf(installation)}?`}
      act="Revoke the app"
      verdict={can('revokeInstallation', { ended: installation.revokedAt !== undefined })}
      busy={revoke.isPending}
      problem={<ActionProblem error={revoke.error} />}
      onAct={() => revoke.mutate()}
      onClose={onClose}
    >
      <p>
        Its tokens are refused from the next request on, its Runs end within seconds, and webhooks and connections to
        Git hosts end with it. What its agents have saved stays.
      </p>
      <p>This installation cannot return. Installing the app again makes another one.</p>
    </Confirm>
  )
}
