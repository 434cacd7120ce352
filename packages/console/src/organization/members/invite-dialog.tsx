import type { Invitation } from '@berth/contract'
import { call } from '../../api/client.ts'
import { keptAs } from '../dialogs.ts'
import { FormDialog, ShownOnce, TextField } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { refreshPeople } from './queries.ts'
import { RoleFields } from './role-fields.tsx'

/** Invites a person. The service sends no mail, so the link is handed over. */
export function InviteDialog({ organizationId, onClose }: { organizationId: string; onClose: () => void }) {
  const can = useOrganizationCan()
  const form = useKeptForm({
    name: keptAs('invite'),
    initial: { email: '', role: 'member', permissions: [] as readonly string[] },
    faultsOf: ({ email }) => ({ email: emailFault(email.trim()) }),
    send: ({ email, role, permissions }) =>
      call<{ invitation: Invitation; url: string }>('POST', `account/organizations/${organizationId}/invitations`, {
        email: email.trim(),
        role,
        permissions: role === 'admin' ? [] : permissions,
      }),
    onSent: () => refreshPeople(organizationId),
  })
  const { data } = form.action
  if (data !== undefined) {
    return (
      <ShownOnce
        title="Hand this link over"
        label={`Invitation for ${data.invitation.email}`}
        value={data.url}
        onDone={onClose}
      >
        Berth sends no mail. The link works once and for 24 hours, and is not shown again. Whoever has it can join.
      </ShownOnce>
    )
  }
  return (
    <FormDialog title="Invite a person" act="Make the link" form={form} verdict={can('invite')} onClose={onClose}>
      <TextField
        form={form}
        name="email"
        label="Email"
        hint="Earlier invitations of this address stop working."
        type="email"
        autoFocus
      />
      <RoleFields form={form} fixed={null} />
    </FormDialog>
  )
}

function emailFault(email: string): string | undefined {
  if (email === '') return 'Enter an email address.'
  return /^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 254 ? undefined : 'This is no email address.'
}
