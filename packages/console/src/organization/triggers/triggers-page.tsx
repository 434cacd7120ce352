import type { Trigger } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext, useRouter } from '@tanstack/react-router'
import { Plus, Zap } from 'lucide-react'
import { to } from '../../routing/to.ts'
import { Button } from '../../ui/button.tsx'
import { Listing } from '../../ui/listing.tsx'
import { EmptyState, ErrorState, LoadingLines } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { useDialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { triggersQuery } from './queries.ts'
import { TriggerForm } from './trigger-form.tsx'
import { firedBy } from './trigger-labels.ts'
import { TriggerState } from './trigger-state.tsx'
import { usePlaces } from './use-places.ts'

/** The triggers, which start Sessions by a schedule or for an event elsewhere. */
export function TriggersPage() {
  const can = useOrganizationCan()
  const dialog = useDialog()
  return (
    <SectionPage
      title="Triggers"
      needs="organization.integrations.manage"
      actions={
        <Button variant="primary" verdict={can('writeTrigger')} onClick={() => dialog.open('new')}>
          <Plus className="size-4" aria-hidden /> New trigger
        </Button>
      }
    >
      <Triggers />
    </SectionPage>
  )
}

function Triggers() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const dialog = useDialog()
  const router = useRouter()
  const places = usePlaces(organizationId)
  const list = useQuery(triggersQuery(organizationId))
  if (list.isPending || places.isPending) return <LoadingLines label="triggers" />
  const { error } = list.data === undefined ? list : places
  if (list.data === undefined || places.data === undefined)
    return <ErrorState error={error} retry={() => void Promise.all([list.refetch(), places.refetch()])} />
  const { data } = places
  return (
    <>
      {list.data.length === 0 ? (
        <EmptyState
          icon={Zap}
          title="No triggers yet"
          action={
            <Button variant="primary" onClick={() => dialog.open('new')}>
              <Plus className="size-4" aria-hidden /> Make the first trigger
            </Button>
          }
        >
          A trigger starts Sessions by a schedule, or when something happens elsewhere: a comment on GitHub, a message
          in Slack, an alert of yours.
        </EmptyState>
      ) : (
        <Listing
          label="Triggers"
          noun={['trigger', 'triggers']}
          columns={columnsOf(id => data.find(place => place.id === id)?.name ?? id)}
          rows={list.data}
          keyOf={({ id }) => id}
          textOf={trigger => `${trigger.name} ${firedBy(trigger)} ${trigger.id}`}
        />
      )}
      {dialog.name === 'new' && (
        <TriggerForm
          organizationId={organizationId}
          places={data}
          onDone={(installation, id) => void router.navigate(to.trigger(installation, id))}
          onClose={dialog.close}
        />
      )}
    </>
  )
}

const columnsOf = (nameOf: (installationId: string) => string): readonly Column<Trigger>[] => [
  {
    id: 'name',
    header: 'Name',
    cell: trigger => (
      <Link
        {...to.trigger(trigger.installationId, trigger.id)}
        data-list-item
        className="block min-w-0 rounded-sm hover:text-accent"
      >
        <span className="block truncate font-medium">{trigger.name}</span>
        <span className="block truncate text-xs text-ink-3">{firedBy(trigger)}</span>
      </Link>
    ),
  },
  {
    id: 'installation',
    header: 'Installation',
    className: 'max-sm:hidden',
    cell: ({ installationId }) => <span className="text-ink-2">{nameOf(installationId)}</span>,
  },
  { id: 'state', header: 'State', cell: trigger => <TriggerState trigger={trigger} /> },
]
