import { call } from '../../api/client.ts'
import { keptAs } from '../dialogs.ts'
import { FormDialog } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { capabilityLabel } from './capability-labels.ts'
import { GrantFields } from './grant-fields.tsx'
import { refreshAccess } from './queries.ts'

/** Changes the capabilities of an installation, and first shows the difference. */
export function ChangeGrant(props: {
  organizationId: string
  installation: { readonly id: string; readonly name: string; readonly capabilities: readonly string[] }
  onClose: () => void
}) {
  const { organizationId, installation, onClose } = props
  const can = useOrganizationCan()
  const before = installation.capabilities
  const form = useKeptForm({
    name: keptAs('grant', installation.id),
    initial: { capabilities: before },
    send: values => call('PATCH', `account/installations/${installation.id}`, values),
    onSent: () => {
      refreshAccess(organizationId)
      onClose()
    },
  })
  const { capabilities } = form.values
  const gained = capabilities.filter(held => !before.includes(held))
  const lost = before.filter(held => !capabilities.includes(held))
  const obstacle =
    capabilities.length === 0
      ? 'An installation holds at least one capability. Revoke it instead.'
      : gained.length + lost.length === 0
        ? 'Nothing is changed.'
        : null
  return (
    <FormDialog
      title={`What ${installation.name} may do`}
      act="Save"
      form={form}
      verdict={can('changeGrant')}
      obstacle={obstacle}
      onClose={onClose}
    >
      <GrantFields value={capabilities} onChange={next => form.fields.setValue('capabilities', next)} />
      <div role="status" className="flex flex-col gap-1 border-t border-line pt-3 text-xs">
        {gained.length > 0 && <p>Gains: {gained.map(held => capabilityLabel(held)[0]).join(', ')}.</p>}
        {lost.length > 0 && (
          <p className="text-warning">Loses: {lost.map(held => capabilityLabel(held)[0]).join(', ')}.</p>
        )}
        <p className="text-ink-3">Counts from its next request. Runs under way go on.</p>
      </div>
    </FormDialog>
  )
}
