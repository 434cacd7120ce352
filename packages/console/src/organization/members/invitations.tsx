import { formatDuration } from '@berth/client/transcript'
import type { Invitation } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { Badge } from '../../environments/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { useMinute } from '../../ui/clock.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { InlineProblem } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import type { Dialog } from '../dialogs.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { invitationsQuery, refreshPeople } from './queries.ts'
import { permissionName, roleName } from './role-fields.tsx'

/** Invitations that nobody has accepted yet; nothing if there are none. */
export function Invitations({ organizationId, dialog }: { organizationId: string; dialog: Dialog }) {
  const can = useOrganizationCan()
  const now = useMinute()
  const list = useQuery(invitationsQuery(organizationId))
  // Its link stops working by itself while the page is open.
  const open = (list.data ?? []).filter(({ expiresAt }) => Date.parse(expiresAt) > now)
  const withdrawn = open.find(({ id }) => dialog.name === 'withdraw' && dialog.of === id)
  if (open.length === 0) return <InlineProblem error={list.error} />
  const columns: readonly Column<Invitation>[] = [
    { id: 'email', header: 'Email', cell: ({ email }) => <span className="block truncate font-medium">{email}</span> },
    {
      id: 'role',
      header: 'Role',
      cell: ({ role, permissions }) => (
        <Badge tone={role === 'admin' ? 'accent' : 'quiet'}>
          {[roleName(role), ...permissions.map(permissionName)].join(', ')}
        </Badge>
      ),
      className: 'max-sm:hidden',
    },
    {
      id: 'ends',
      header: 'Link ends in',
      cell: ({ expiresAt }) => (
        <span className="text-ink-2 tabular-nums">{formatDuration(Math.max(60_000, Date.parse(expiresAt) - now))}</span>
      ),
    },
    {
      id: 'actions',
      header: 'Actions',
      quiet: true,
      cell: ({ id, email }) => (
        <span className="flex justify-end">
          <Button
            variant="quiet"
            aria-label={`Withdraw the invitation of ${email}`}
            verdict={can('withdrawInvitation')}
            onClick={() => dialog.open('withdraw', id)}
          >
            Withdraw
          </Button>
        </span>
      ),
    },
  ]
  return (
    <section aria-labelledby="invitations" className="flex flex-col gap-2">
      <h2 id="invitations" className="text-sm font-semibold">
        Open invitations
      </h2>
      <Table label="Open invitations" columns={columns} rows={open} keyOf={({ id }) => id} />
      {withdrawn !== undefined && (
        <Withdraw organizationId={organizationId} invitation={withdrawn} onClose={dialog.close} />
      )}
    </section>
  )
}

function Withdraw(props: { organizationId: string; invitation: Invitation; onClose: () => void }) {
  const { organizationId, invitation, onClose } = props
  const can = useOrganizationCan()
  const withdraw = useMutation({
    mutationFn: () => call('DELETE', `account/organizations/${organizationId}/invitations/${invitation.id}`),
    onSuccess: () => {
      onClose()
      refreshPeople(organizationId)
    },
  })
  return (
    <Confirm
      title="Withdraw the invitation?"
      act="Withdraw"
      verdict={can('withdrawInvitation')}
      busy={withdraw.isPending}
      problem={<ActionProblem error={withdraw.error} />}
      onAct={() => withdraw.mutate()}
      onClose={onClose}
    >
      <p>
        The link that was made for <strong className="font-semibold text-ink">{invitation.email}</strong> stops working.
        You can invite them again.
      </p>
    </Confirm>
  )
}
