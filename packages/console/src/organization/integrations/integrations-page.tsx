import type { Integration } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { KeyRound, Plus } from 'lucide-react'
import { to } from '../../routing/to.ts'
import { Button } from '../../ui/button.tsx'
import { Ago, Day } from '../../ui/dates.tsx'
import { Listing } from '../../ui/listing.tsx'
import { EmptyState, ErrorState, LoadingLines } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { grantSummary } from '../access/capability-labels.ts'
import { integrationsQuery } from '../access/queries.ts'
import { type Dialog, useDialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { NewIntegration } from './new-integration.tsx'
import { productName } from './product-labels.ts'

/** The programs of the organization that use Berth by API keys. */
export function IntegrationsPage() {
  const can = useOrganizationCan()
  const dialog = useDialog()
  return (
    <SectionPage
      title="Integrations"
      needs="organization.integrations.manage"
      actions={
        <Button variant="primary" verdict={can('createIntegration')} onClick={() => dialog.open('new')}>
          <Plus className="size-4" aria-hidden /> New integration
        </Button>
      }
    >
      <Integrations dialog={dialog} />
    </SectionPage>
  )
}

function Integrations({ dialog }: { dialog: Dialog }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const list = useQuery(integrationsQuery(organizationId))
  if (list.isPending) return <LoadingLines label="integrations" />
  if (list.data === undefined) return <ErrorState error={list.error} retry={() => void list.refetch()} />
  return (
    <>
      {list.data.length === 0 ? (
        <EmptyState
          icon={KeyRound}
          title="No integrations yet"
          action={
            <Button variant="primary" onClick={() => dialog.open('new')}>
              <Plus className="size-4" aria-hidden /> Make the first integration
            </Button>
          }
        >
          A program that starts Sessions or calls models by itself, such as a build or a bot, gets an integration: a
          name for the audit log, what it may do, and API keys.
        </EmptyState>
      ) : (
        <Listing
          label="Integrations"
          noun={['integration', 'integrations']}
          columns={columns}
          rows={list.data}
          keyOf={({ id }) => id}
          textOf={({ name, product, keys, id }) =>
            `${name} ${productName(product)} ${product} ${id} ${keys.map(({ hint }) => hint ?? '').join(' ')}`
          }
        />
      )}
      {dialog.name === 'new' && <NewIntegration organizationId={organizationId} onClose={dialog.close} />}
    </>
  )
}

/** Returns when a key of an integration was used last. */
function lastUse({ keys }: Integration): string | null {
  return (
    keys
      .flatMap(({ lastUsedAt }) => lastUsedAt ?? [])
      .toSorted()
      .at(-1) ?? null
  )
}

const columns: readonly Column<Integration>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ id, name, capabilities }) => (
      <Link {...to.integration(id)} data-list-item className="block min-w-0 rounded-sm hover:text-accent">
        <span className="block truncate font-medium">{name}</span>
        <span className="block truncate text-xs text-ink-3">{grantSummary(capabilities)}</span>
      </Link>
    ),
  },
  { id: 'for', header: 'For', className: 'max-sm:hidden', cell: ({ product }) => productName(product) },
  { id: 'keys', header: 'Keys', cell: ({ keys }) => <span className="tabular-nums">{keys.length}</span> },
  {
    id: 'used',
    header: 'Last used',
    cell: integration => {
      const at = lastUse(integration)
      return <span className="text-ink-2">{at === null ? 'Never' : <Ago at={at} />}</span>
    },
  },
  {
    id: 'created',
    header: 'Created',
    className: 'max-sm:hidden',
    cell: ({ createdAt }) => (
      <span className="text-ink-2">
        <Day at={createdAt} />
      </span>
    ),
  },
]
