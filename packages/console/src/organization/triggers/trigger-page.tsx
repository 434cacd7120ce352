import type { Trigger } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { ChevronLeft, KeyRound, Pencil, Power, Trash2, Zap } from 'lucide-react'
import { to } from '../../routing/to.ts'
import { Button } from '../../ui/button.tsx'
import { Day } from '../../ui/dates.tsx'
import { dollars } from '../../ui/format.ts'
import { EmptyState, ErrorState, LoadingLines } from '../../ui/states.tsx'
import { Facts } from '../access/facts.tsx'
import { useDialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { ActionProblem } from '../step-up.tsx'
import { putTrigger, refreshTriggers, triggersQuery } from './queries.ts'
import { TriggerDeliveries } from './trigger-deliveries.tsx'
import { DeleteTrigger, ReplaceSecret } from './trigger-dialogs.tsx'
import { fieldsOf, toBody } from './trigger-fields.ts'
import { TriggerForm } from './trigger-form.tsx'
import { firedBy } from './trigger-labels.ts'
import { TriggerState } from './trigger-state.tsx'
import { usePlaces } from './use-places.ts'

const route = getRouteApi('/shell/organization/triggers/$installationId/$triggerId')
const needs = 'organization.integrations.manage'

/** One trigger, its source and its deliveries with their outcomes. */
export function TriggerPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const { installationId, triggerId } = route.useParams()
  const organizationId = viewer.membership.organization.id
  const allowed = viewer.membership.capabilities.includes(needs)
  const list = useQuery({ ...triggersQuery(organizationId), enabled: allowed })
  const trigger = list.data?.find(({ id, installationId: of }) => id === triggerId && of === installationId)
  return (
    <SectionPage
      title={trigger?.name ?? 'Trigger'}
      needs={needs}
      actions={trigger !== undefined && <Actions />}
      below={
        <Link {...to.triggers()} className="flex min-h-6 w-full items-center text-xs text-ink-2 hover:text-ink">
          <ChevronLeft className="size-3.5" aria-hidden /> Triggers
        </Link>
      }
    >
      {trigger !== undefined && <View key={triggerId} organizationId={organizationId} trigger={trigger} />}
      {trigger === undefined && list.isPending && <LoadingLines label="the trigger" />}
      {trigger === undefined && list.isError && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {trigger === undefined && list.isSuccess && (
        <EmptyState icon={Zap} title="No such trigger">
          It is deleted, its installation is revoked, or the link is wrong.
        </EmptyState>
      )}
    </SectionPage>
  )
}

function Actions() {
  const can = useOrganizationCan()
  const dialog = useDialog()
  return (
    <>
      <Button verdict={can('writeTrigger')} onClick={() => dialog.open('edit')}>
        <Pencil className="size-4" aria-hidden /> Change
      </Button>
      <Button variant="danger" verdict={can('deleteTrigger')} onClick={() => dialog.open('delete')}>
        <Trash2 className="size-4" aria-hidden />
        <span className="max-sm:sr-only">Delete</span>
      </Button>
    </>
  )
}

function View({ organizationId, trigger }: { organizationId: string; trigger: Trigger }) {
  const can = useOrganizationCan()
  const dialog = useDialog()
  const places = usePlaces(organizationId)
  const { id, installationId, hook, enabled, message } = trigger
  const turn = useMutation({
    mutationFn: () => putTrigger(id, { ...toBody(fieldsOf(trigger), trigger), enabled: !enabled }),
    onSuccess: () => refreshTriggers(organizationId),
  })
  const shared = { organizationId, trigger, onClose: dialog.close }
  return (
    <div className="flex flex-col gap-6">
      <Facts
        facts={[
          ['State', <TriggerState key="state" trigger={trigger} />],
          ['Fired by', firedBy(trigger)],
          ...(hook === undefined ? [] : [['Address', <Code key="url">{hook.url}</Code>] as const]),
          ['Installation', places.data?.find(place => place.id === installationId)?.name ?? installationId],
          [
            'Message',
            <span key="message" className="font-mono text-xs whitespace-pre-wrap">
              {message}
            </span>,
          ],
          ...(trigger.session.budget
            ? [['Budget of a Session', dollars(trigger.session.budget.costUsd)] as const]
            : []),
          ['Changed', <Day key="day" at={trigger.updatedAt} />],
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <Button busy={turn.isPending} verdict={can('writeTrigger')} onClick={() => turn.mutate()}>
          <Power className="size-4" aria-hidden /> {enabled ? 'Turn off' : 'Turn on'}
        </Button>
        {hook !== undefined && (
          <Button
            variant={hook.hasSecret ? 'plain' : 'primary'}
            verdict={can('writeTrigger')}
            onClick={() => dialog.open('secret')}
          >
            <KeyRound className="size-4" aria-hidden /> {hook.hasSecret ? 'Replace the secret' : 'Make a secret'}
          </Button>
        )}
      </div>
      <ActionProblem error={turn.error} />
      <TriggerDeliveries organizationId={organizationId} triggerId={id} />
      {dialog.name === 'edit' && (
        <TriggerForm
          organizationId={organizationId}
          places={places.data ?? []}
          before={trigger}
          onDone={dialog.close}
          onClose={dialog.close}
        />
      )}
      {dialog.name === 'secret' && <ReplaceSecret {...shared} />}
      {dialog.name === 'delete' && <DeleteTrigger {...shared} />}
    </div>
  )
}

function Code({ children }: { children: string }) {
  return <code className="font-mono text-xs [overflow-wrap:anywhere]">{children}</code>
}
