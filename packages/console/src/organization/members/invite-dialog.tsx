import type { Invitation } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { FormDialog, ShownOnce, TextField } from '../form-dialog.tsx'
import { forgetKept, useKept } from '../kept.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { refreshPeople } from './queries.ts'
import { RoleFields } from './role-fields.tsx'

const kept = 'invite.'

/** Invites a person. The service sends no mail, so the link is handed over. */
export function InviteDialog({ organizationId, onClose }: { organizationId: string; onClose: () => void }) {
  const can = useOrganizationCan()
  const [form, change] = useKept(kept, { email: '', role: 'member', permissions: [] as readonly string[] })
  const email = form.email.trim()
  const invite = useMutation({
    mutationFn: () =>
      call<{ invitation: Invitation; url: string }>('POST', `account/organizations/${organizationId}/invitations`, {
        email,
        role: form.role,
        permissions: form.role === 'admin' ? [] : form.permissions,
      }),
    onSuccess: () => {
      forgetKept(kept)
      refreshPeople(organizationId)
    },
  })
  const verdict = can('invite')
  const isEmail = /^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 254
  if (invite.data !== undefined) {
    return (
      <ShownOnce
        title="Hand this link over"
        label={`Invitation for ${invite.data.invitation.email}`}
        value={invite.data.url}
        onDone={onClose}
      >
        Berth sends no mail. The link works once and for 24 hours, and is not shown again. Whoever has it can join.
      </ShownOnce>
    )
  }
  return (
    <FormDialog
      title="Invite a person"
      act="Make the link"
      action={invite}
      verdict={verdict}
      obstacle={isEmail ? null : 'Enter an email address.'}
      onClose={onClose}
    >
      <TextField
        label="Email"
        hint="Earlier invitations of this address stop working."
        fault={email === '' || isEmail ? undefined : 'This is no email address.'}
        type="email"
        autoFocus
        value={form.email}
        onChange={email => change({ email })}
      />
      <RoleFields value={form} onChange={change} fixed={null} />
    </FormDialog>
  )
}
