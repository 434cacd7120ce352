import type { Integration } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext, useRouter } from '@tanstack/react-router'
import { ChevronLeft, KeyRound, Pencil, Trash2 } from 'lucide-react'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Day } from '../../ui/dates.tsx'
import { counted } from '../../ui/format.ts'
import { EmptyState, ErrorState, LoadingLines } from '../../ui/states.tsx'
import { ChangeGrant } from '../access/change-grant.tsx'
import { Facts, Part } from '../access/facts.tsx'
import { GrantList } from '../access/grant-list.tsx'
import { integrationsQuery, refreshAccess } from '../access/queries.ts'
import { useDialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { ActionProblem } from '../step-up.tsx'
import { Keys } from './keys.tsx'
import { productName } from './product-labels.ts'

const route = getRouteApi('/shell/organization/integrations/$integrationId')
const needs = 'organization.integrations.manage'

/** One integration: its capabilities and its keys. */
export function IntegrationPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const { integrationId } = route.useParams()
  const allowed = viewer.membership.capabilities.includes(needs)
  const list = useQuery({ ...integrationsQuery(viewer.membership.organization.id), enabled: allowed })
  const integration = list.data?.find(({ id }) => id === integrationId)
  const dialog = useDialog()
  const can = useOrganizationCan()
  return (
    <SectionPage
      title={integration?.name ?? 'Integration'}
      needs={needs}
      actions={
        integration !== undefined && (
          <Button variant="danger" verdict={can('deleteIntegration')} onClick={() => dialog.open('delete')}>
            <Trash2 className="size-4" aria-hidden /> Delete
          </Button>
        )
      }
      below={
        <Link {...to.integrations()} className="flex min-h-6 w-full items-center text-xs text-ink-2 hover:text-ink">
          <ChevronLeft className="size-3.5" aria-hidden /> Integrations
        </Link>
      }
    >
      {integration !== undefined && <View key={integration.id} integration={integration} />}
      {integration === undefined && list.isPending && <LoadingLines label="the integration" />}
      {integration === undefined && list.isError && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {integration === undefined && list.isSuccess && (
        <EmptyState icon={KeyRound} title="No such integration">
          It is deleted, in another organization, or the link is wrong.
        </EmptyState>
      )}
    </SectionPage>
  )
}

function View({ integration }: { integration: Integration }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const can = useOrganizationCan()
  const dialog = useDialog()
  const { id, name, capabilities, product, createdAt } = integration
  return (
    <div className="flex flex-col gap-6">
      <Facts
        facts={[
          ['For', productName(product)],
          ['Created', <Day key="day" at={createdAt} />],
          [
            'Installation',
            <code key="id" className="font-mono text-xs">
              {integration.installationId}
            </code>,
          ],
        ]}
      />
      <Keys organizationId={organizationId} integration={integration} dialog={dialog} />
      <Part
        id="grant"
        title="What it may do"
        actions={
          <Button verdict={can('changeGrant')} onClick={() => dialog.open('grant', id)}>
            <Pencil className="size-4" aria-hidden /> Change
          </Button>
        }
      >
        <GrantList capabilities={capabilities} />
      </Part>
      {dialog.name === 'grant' && (
        <ChangeGrant
          organizationId={organizationId}
          installation={{ id: integration.installationId, name, capabilities }}
          onClose={dialog.close}
        />
      )}
      {dialog.name === 'delete' && (
        <Delete organizationId={organizationId} integration={integration} onClose={dialog.close} />
      )}
    </div>
  )
}

function Delete(props: { organizationId: string; integration: Integration; onClose: () => void }) {
  const { organizationId, integration, onClose } = props
  const { id, name, keys } = integration
  const router = useRouter()
  const can = useOrganizationCan()
  const remove = useMutation({
    mutationFn: () => call('DELETE', `account/organizations/${organizationId}/integrations/${id}`),
    onSuccess: async () => {
      await router.navigate({ ...to.integrations(), replace: true })
      refreshAccess(organizationId)
    },
  })
  return (
    <Confirm
      title={`Delete ${name}?`}
      act="Delete the integration"
      verdict={can('deleteIntegration')}
      busy={remove.isPending}
      problem={<ActionProblem error={remove.error} />}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        {keys.length === 0 ? 'It has no active key.' : `${counted(keys.length, 'key')} of it stop working at once.`} Its
        Runs end within seconds, its webhooks and its connections to Git hosts end too.
      </p>
      <p>Its Sessions stay readable for your people. It cannot return: a new one gets another id.</p>
    </Confirm>
  )
}
