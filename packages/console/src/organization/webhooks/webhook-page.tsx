import type { WebhookEndpoint } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { ChevronLeft, History, RefreshCw, Send, Trash2, Webhook } from 'lucide-react'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { Button } from '../../ui/button.tsx'
import { Day } from '../../ui/dates.tsx'
import { printableLine } from '../../ui/printable.ts'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../../ui/states.tsx'
import { Facts } from '../access/facts.tsx'
import { useDialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { Deliveries } from './deliveries.tsx'
import { usePlaces } from './places.ts'
import { endpointsQuery, type Place, refreshWebhooks, webhooksPath } from './queries.ts'
import { DeleteWebhook, Replay, Rotate } from './webhook-dialogs.tsx'
import { familyLabel } from './webhook-labels.ts'
import { EndpointState } from './webhooks-page.tsx'

const route = getRouteApi('/shell/organization/webhooks/$appSlug/$installationId/$endpointId')
const needs = 'organization.applications.manage'
/** Endpoints that an installation may have. */
const mostEndpoints = 5

/** One endpoint: its types of Events, and each delivery to it with its attempts. */
export function WebhookPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const { appSlug: app, installationId: installation, endpointId } = route.useParams()
  const place = { app, installation }
  const organizationId = viewer.membership.organization.id
  const allowed = viewer.membership.capabilities.includes(needs)
  const list = useQuery({ ...endpointsQuery(organizationId, place), enabled: allowed })
  const endpoint = list.data?.find(({ id }) => id === endpointId)
  return (
    <SectionPage
      title="Webhook endpoint"
      needs={needs}
      actions={endpoint !== undefined && <Actions {...{ organizationId, place, endpoint }} />}
      below={
        <Link
          {...to.webhooks({ app, installation })}
          className="flex min-h-6 w-full items-center text-xs text-ink-2 hover:text-ink"
        >
          <ChevronLeft className="size-3.5" aria-hidden /> Webhooks
        </Link>
      }
    >
      {endpoint !== undefined && (
        <View
          key={endpoint.id}
          {...{ organizationId, place, endpoint }}
          full={(list.data ?? []).length >= mostEndpoints}
        />
      )}
      {endpoint === undefined && list.isPending && <LoadingLines label="the endpoint" />}
      {endpoint === undefined && list.isError && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {endpoint === undefined && list.isSuccess && (
        <EmptyState icon={Webhook} title="No such endpoint">
          It is deleted, or the link is wrong.
        </EmptyState>
      )}
    </SectionPage>
  )
}

interface OfEndpoint {
  readonly organizationId: string
  readonly place: Place
  readonly endpoint: WebhookEndpoint
}

function Actions({ organizationId, place, endpoint }: OfEndpoint) {
  const can = useOrganizationCan()
  const dialog = useDialog()
  const ping = useMutation({
    mutationFn: () => call('POST', `${webhooksPath(place)}/${endpoint.id}/ping`),
    onSuccess: () => refreshWebhooks(organizationId),
  })
  return (
    <>
      <InlineProblem error={ping.error} />
      <Button variant="primary" busy={ping.isPending} verdict={can('testWebhook')} onClick={() => ping.mutate()}>
        <Send className="size-4" aria-hidden /> Send a test
      </Button>
      <Button variant="danger" verdict={can('deleteWebhook')} onClick={() => dialog.open('delete')}>
        <Trash2 className="size-4" aria-hidden />
        <span className="max-sm:sr-only">Delete</span>
      </Button>
    </>
  )
}

function View({ organizationId, place, endpoint, full }: OfEndpoint & { full: boolean }) {
  const can = useOrganizationCan()
  const dialog = useDialog()
  const { apps, places } = usePlaces()
  const name = places.find(({ installation }) => installation === place.installation)?.name
  const shared = { organizationId, place, endpoint, onClose: dialog.close }
  return (
    <div className="flex flex-col gap-6">
      <Facts
        facts={[
          [
            'Address',
            <code key="url" className="font-mono text-xs">
              {endpoint.url}
            </code>,
          ],
          ['Hears of', endpoint.families.map(family => familyLabel[family]?.[0] ?? family).join(', ')],
          ['State', <EndpointState key="state" endpoint={endpoint} />],
          ['App', printableLine(apps.find(({ slug }) => slug === place.app)?.name ?? place.app)],
          [
            'Installation',
            <span key="id" className="flex flex-wrap items-baseline gap-x-2">
              {name !== undefined && printableLine(name)}
              <code className="font-mono text-xs text-ink-3">{place.installation}</code>
            </span>,
          ],
          ['Registered', <Day key="day" at={endpoint.createdAt} />],
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <Button verdict={can('registerWebhook', { full })} onClick={() => dialog.open('rotate')}>
          <RefreshCw className="size-4" aria-hidden /> Rotate the secret
        </Button>
        <Button verdict={can('replayWebhook')} onClick={() => dialog.open('replay')}>
          <History className="size-4" aria-hidden /> Send a Session again
        </Button>
      </div>
      <Deliveries organizationId={organizationId} place={place} endpoint={endpoint} />
      {dialog.name === 'rotate' && <Rotate {...shared} />}
      {dialog.name === 'replay' && <Replay {...shared} />}
      {dialog.name === 'delete' && <DeleteWebhook {...shared} old={endpoint.id} />}
      {dialog.name === 'finish' && dialog.of !== undefined && <DeleteWebhook {...shared} old={dialog.of} />}
    </div>
  )
}
