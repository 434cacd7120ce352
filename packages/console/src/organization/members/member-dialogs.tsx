import type { Member } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { viewerQuery } from '../../api/identity.ts'
import { queryClient } from '../../api/queries.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { TickBox } from '../../ui/tick-box.tsx'
import { keptAs } from '../dialogs.ts'
import { FormDialog, ShownOnce } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { type Target, useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { refreshPeople } from './queries.ts'
import { RoleFields } from './role-fields.tsx'

interface DialogProps {
  readonly organizationId: string
  readonly member: Member
  readonly target: Target
  readonly onClose: () => void
}

const pathOf = (organizationId: string, { id }: Member) => `account/organizations/${organizationId}/members/${id}`

/** Gives a member another role or other permissions. */
export function EditMember({ organizationId, member, target, onClose }: DialogProps) {
  const can = useOrganizationCan()
  const { role, permissions } = member
  const form = useKeptForm({
    name: keptAs('edit', member.id),
    initial: { role, permissions: permissions as readonly string[] },
    send: values => call('PATCH', pathOf(organizationId, member), values),
    onSent: async () => {
      refreshPeople(organizationId)
      // Whoever changes their own role may see other pages from now on.
      if (target.self === true) await queryClient.invalidateQueries({ queryKey: viewerQuery.queryKey })
      onClose()
      if (target.self === true) location.reload()
    },
  })
  const { values } = form
  const demotion = can('demoteMember', target)
  const isSame =
    values.role === role &&
    values.permissions.length === permissions.length &&
    values.permissions.every(permission => permissions.some(held => held === permission))
  return (
    <FormDialog
      title={member.person.name}
      about={member.person.email}
      act="Save"
      form={form}
      verdict={can('changeMember', target)}
      obstacle={isSame ? 'Nothing is changed.' : null}
      onClose={onClose}
    >
      <RoleFields form={form} fixed={role === 'admin' && !demotion.allowed ? demotion.reason : null} />
      {target.self === true && role === 'admin' && values.role !== 'admin' && (
        <p role="alert" className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
          This is you. You lose these pages at once, and another administrator has to give them back.
        </p>
      )}
    </FormDialog>
  )
}

/** Makes a link by which a member chooses a new password. */
export function ResetMember({ organizationId, member, target, onClose }: DialogProps) {
  const can = useOrganizationCan()
  const form = useKeptForm({
    name: keptAs('reset', member.id),
    initial: { forget: false },
    send: ({ forget }) =>
      call<{ url: string }>('POST', `${pathOf(organizationId, member)}/reset`, forget ? { secondFactor: true } : {}),
  })
  const { data } = form.action
  const { name } = member.person
  if (data !== undefined) {
    return (
      <ShownOnce title="Hand this link over" label={`New password of ${name}`} value={data.url} onDone={onClose}>
        Berth sends no mail. The link works once and for 24 hours, and is not shown again. Whoever has it can sign in as{' '}
        {name}.
      </ShownOnce>
    )
  }
  return (
    <FormDialog
      title={`Let ${name} choose a new password`}
      about="You get a link to hand over. The old password works until the link is used; earlier links stop working now."
      act="Make the link"
      form={form}
      verdict={can('resetMember', target)}
      onClose={onClose}
    >
      <TickBox
        {...form.fields.register('forget')}
        means="For a lost phone. It goes at once with its recovery codes, and every sign-in of the person ends."
      >
        Remove the second factor as well
      </TickBox>
    </FormDialog>
  )
}

/** Ends a membership. */
export function RemoveMember({ organizationId, member, target, onClose }: DialogProps) {
  const can = useOrganizationCan()
  const remove = useMutation({
    mutationFn: () => call('DELETE', pathOf(organizationId, member)),
    onSuccess: () => {
      if (target.self === true) return location.assign('/')
      refreshPeople(organizationId)
      onClose()
    },
  })
  const { name } = member.person
  return (
    <Confirm
      title={target.self === true ? 'Leave the organization?' : `Remove ${name}?`}
      act={target.self === true ? 'Leave' : 'Remove'}
      verdict={can('removeMember', target)}
      busy={remove.isPending}
      problem={<ActionProblem error={remove.error} />}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        {target.self === true ? 'Your' : 'Their'} sign-ins and streams end at once, and Turns that still wait fail. Runs
        that have begun go on.
      </p>
      <p>
        Sessions, environments and integrations stay: they are the organization’s. A new invitation lets them return.
      </p>
    </Confirm>
  )
}
