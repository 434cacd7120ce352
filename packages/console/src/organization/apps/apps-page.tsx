import type { App } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { AppWindow, Plus } from 'lucide-react'
import { to } from '../../routing/to.ts'
import { Button } from '../../ui/button.tsx'
import { Day } from '../../ui/dates.tsx'
import { counted } from '../../ui/format.ts'
import { Listing } from '../../ui/listing.tsx'
import { EmptyState, ErrorState, LoadingLines } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { appsQuery } from '../access/queries.ts'
import { type Dialog, useDialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { NewApp } from './new-app.tsx'

/** The apps that the organization publishes. */
export function AppsPage() {
  const can = useOrganizationCan()
  const dialog = useDialog()
  return (
    <SectionPage
      title="Apps"
      needs="organization.applications.manage"
      actions={
        <Button variant="primary" verdict={can('createApp')} onClick={() => dialog.open('new')}>
          <Plus className="size-4" aria-hidden /> New app
        </Button>
      }
    >
      <Apps dialog={dialog} />
    </SectionPage>
  )
}

function Apps({ dialog }: { dialog: Dialog }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const list = useQuery(appsQuery(organizationId))
  if (list.isPending) return <LoadingLines label="apps" />
  if (list.data === undefined) return <ErrorState error={list.error} retry={() => void list.refetch()} />
  return (
    <>
      {list.data.length === 0 ? (
        <EmptyState
          icon={AppWindow}
          title="No apps yet"
          action={
            <Button variant="primary" onClick={() => dialog.open('new')}>
              <Plus className="size-4" aria-hidden /> Make the first app
            </Button>
          }
        >
          An app is a product of yours with a backend. Organizations install it, and its backend signs assertions with a
          key of its own, instead of keeping an API key of each.
        </EmptyState>
      ) : (
        <Listing
          label="Apps"
          noun={['app', 'apps']}
          columns={columns}
          rows={list.data}
          keyOf={({ slug }) => slug}
          textOf={({ slug, name }) => `${name} ${slug}`}
        />
      )}
      {dialog.name === 'new' && <NewApp organizationId={organizationId} onClose={dialog.close} />}
    </>
  )
}

const columns: readonly Column<App>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ slug, name }) => (
      <Link {...to.app(slug)} data-list-item className="block min-w-0 rounded-sm hover:text-accent">
        <span className="block truncate font-medium">{name}</span>
        <code className="block truncate font-mono text-xs text-ink-3">{slug}</code>
      </Link>
    ),
  },
  {
    id: 'redirects',
    header: 'Returns to',
    className: 'max-sm:hidden',
    cell: ({ redirectUrls }) => (
      <span className="text-ink-2">
        {redirectUrls.length === 0 ? 'Nowhere' : counted(redirectUrls.length, 'address', 'addresses')}
      </span>
    ),
  },
  {
    id: 'created',
    header: 'Created',
    cell: ({ createdAt }) => (
      <span className="text-ink-2">
        <Day at={createdAt} />
      </span>
    ),
  },
]
