import type { WebhookEndpoint } from '@berth/contract'
import { useQueries } from '@tanstack/react-query'
import { Link, useRouteContext, useSearch } from '@tanstack/react-router'
import { Plus, Webhook } from 'lucide-react'
import { type Listing as ListingSearch, to } from '../../routing/to.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Ago } from '../../ui/dates.tsx'
import { Select } from '../../ui/field.tsx'
import { Listing, useListingSearch } from '../../ui/listing.tsx'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { useDialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { NewWebhook } from './new-webhook.tsx'
import { type NamedPlace, usePlaces } from './places.ts'
import { endpointsQuery } from './queries.ts'
import { familyLabel, outcomeLabel } from './webhook-labels.ts'

interface Row {
  readonly place: NamedPlace
  readonly endpoint: WebhookEndpoint
}

/** The endpoints that hear of Sessions of the organization's apps. */
export function WebhooksPage() {
  const can = useOrganizationCan()
  const dialog = useDialog()
  const { viewer } = useRouteContext({ from: '/shell' })
  if (viewer.features.accountsAt !== undefined) return <AtAccountService accountsAt={viewer.features.accountsAt} />
  return (
    <SectionPage
      title="Webhooks"
      needs="organization.applications.manage"
      actions={
        <Button variant="primary" verdict={can('registerWebhook')} onClick={() => dialog.open('new')}>
          <Plus className="size-4" aria-hidden /> New endpoint
        </Button>
      }
    >
      <Webhooks />
    </SectionPage>
  )
}

/** Endpoints belong to the account service, and an account service elsewhere sends nothing of the Sessions here. */
function AtAccountService({ accountsAt }: { accountsAt: string }) {
  return (
    <SectionPage title="Webhooks" needs="organization.applications.manage">
      <EmptyState
        icon={Webhook}
        title="No webhooks from here"
        action={
          <a className={buttonClass()} href={accountsAt}>
            Open the account service
          </a>
        }
      >
        Accounts of this organization are kept by another service. Its endpoints do not hear of Sessions here: read
        their events by the API instead.
      </EmptyState>
    </SectionPage>
  )
}

function Webhooks() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const dialog = useDialog()
  const { app, installation } = useSearch({ strict: false }) as ListingSearch
  const [, change] = useListingSearch()
  const { apps, places: known, pending, error, retry } = usePlaces()
  // An app may be installed in other organizations, whose installations only its backend knows.
  const elsewhere =
    app !== undefined && installation !== undefined && !known.some(place => place.installation === installation)
      ? [{ app, installation, name: 'Another organization' }]
      : []
  const places = [...known, ...elsewhere].filter(place => app === undefined || place.app === app)
  const lists = useQueries({ queries: places.map(place => endpointsQuery(organizationId, place)) })
  if (pending || lists.some(list => list.isPending)) return <LoadingLines label="webhooks" />
  if (error !== null) return <ErrorState error={error} retry={retry} />
  const rows: readonly Row[] = places.flatMap((place, at) =>
    (lists[at]?.data ?? []).map(endpoint => ({ place, endpoint })),
  )
  const failure = lists.find(list => list.isError)?.error
  return (
    <>
      <InlineProblem error={failure} />
      {rows.length === 0 && app === undefined ? (
        <EmptyState
          icon={Webhook}
          title="No webhooks yet"
          action={
            <Button variant="primary" onClick={() => dialog.open('new')}>
              <Plus className="size-4" aria-hidden /> Register the first endpoint
            </Button>
          }
        >
          An endpoint of yours gets a signed request when something happens in Sessions of one of your apps or
          integrations. Each delivery is tried six times and kept here with its attempts.
        </EmptyState>
      ) : (
        <Listing
          label="Webhooks"
          noun={['endpoint', 'endpoints']}
          columns={columns}
          rows={rows}
          keyOf={({ endpoint }) => endpoint.id}
          textOf={({ endpoint, place }) => `${endpoint.url} ${place.app} ${place.name} ${endpoint.families.join(' ')}`}
        >
          <Select
            aria-label="App"
            value={app ?? ''}
            className="!w-auto max-w-44"
            onChange={event =>
              change({ app: event.target.value || undefined, installation: undefined, page: undefined })
            }
          >
            <option value="">Every app</option>
            {apps.map(({ slug, name }) => (
              <option key={slug} value={slug}>
                {name}
              </option>
            ))}
          </Select>
        </Listing>
      )}
      {dialog.name === 'new' && (
        <NewWebhook organizationId={organizationId} apps={apps} places={known} onClose={dialog.close} />
      )}
    </>
  )
}

const columns: readonly Column<Row>[] = [
  {
    id: 'url',
    header: 'Address',
    cell: ({ place, endpoint }) => (
      <Link
        {...to.webhook(place.app, place.installation, endpoint.id)}
        data-list-item
        className="block min-w-0 rounded-sm hover:text-accent"
      >
        <span className="block truncate font-mono text-xs">{endpoint.url}</span>
        <span className="block truncate text-xs text-ink-3">
          {place.name} · {endpoint.families.map(family => familyLabel[family]?.[0] ?? family).join(', ')}
        </span>
      </Link>
    ),
  },
  { id: 'state', header: 'State', cell: ({ endpoint }) => <EndpointState endpoint={endpoint} /> },
]

/** How the last delivery of an endpoint went. */
export function EndpointState({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { lastSuccessAt, lastFailure } = endpoint
  const failed =
    lastFailure !== undefined && (lastSuccessAt === undefined || Date.parse(lastFailure.at) > Date.parse(lastSuccessAt))
  if (failed) {
    return (
      <span className="flex items-center gap-2 text-bad">
        <span className="dot bg-bad" aria-hidden />
        <span className="max-sm:sr-only">{outcomeLabel(lastFailure)},</span> <Ago at={lastFailure.at} />
      </span>
    )
  }
  return (
    <span className="flex items-center gap-2 text-ink-2">
      <span className={`dot ${lastSuccessAt === undefined ? 'bg-dot-quiet' : 'bg-dot-good'}`} aria-hidden />
      {lastSuccessAt === undefined ? (
        'Nothing sent yet'
      ) : (
        <span>
          Delivered <Ago at={lastSuccessAt} />
        </span>
      )}
    </span>
  )
}
