import type { Member } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { KeyRound, Pencil, UserMinus, UserPlus } from 'lucide-react'
import { Badge } from '../../environments/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Listing } from '../../ui/listing.tsx'
import { ErrorState, LoadingLines } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { type Dialog, useDialog } from '../dialogs.ts'
import { type Target, useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { EditMember, RemoveMember, ResetMember } from './member-dialogs.tsx'
import { membersQuery } from './queries.ts'
import { permissionName, roleName } from './role-fields.tsx'

/** Who belongs to the organization, and who is invited. */
export function MembersPage() {
  const can = useOrganizationCan()
  const dialog = useDialog()
  return (
    <SectionPage
      title="Members"
      needs="administrator"
      actions={
        <Button variant="primary" verdict={can('invite')} onClick={() => dialog.open('invite')}>
          <UserPlus className="size-4" aria-hidden /> Invite
        </Button>
      }
    >
      <People dialog={dialog} />
    </SectionPage>
  )
}

function People({ dialog }: { dialog: Dialog }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const organizationId = viewer.membership.organization.id
  const list = useQuery(membersQuery(organizationId))
  if (list.isPending) return <LoadingLines label="members" />
  if (list.data === undefined) return <ErrorState error={list.error} retry={() => void list.refetch()} />
  const members = list.data
  const administrators = members.filter(({ role, disabled }) => role === 'admin' && !disabled)
  const targetOf = ({ id, role, disabled }: Member): Target => ({
    self: id === viewer.membership.id,
    disabled,
    lastAdministrator: role === 'admin' && !disabled && administrators.length === 1,
  })
  const chosen = members.find(({ id }) => id === dialog.of)
  const about =
    chosen === undefined
      ? null
      : { organizationId, member: chosen, target: targetOf(chosen), onClose: dialog.close, key: chosen.id }
  return (
    <div className="flex flex-col gap-8">
      <Listing
        label="Members"
        noun={['member', 'members']}
        columns={columnsOf(targetOf, dialog)}
        rows={members}
        keyOf={({ id }) => id}
        textOf={({ person, role }) => `${person.name} ${person.email} ${roleName(role)}`}
      />
      <Invitations organizationId={organizationId} dialog={dialog} />
      {dialog.name === 'invite' && <InviteDialog organizationId={organizationId} onClose={dialog.close} />}
      {dialog.name === 'edit' && about !== null && <EditMember {...about} key={about.key} />}
      {dialog.name === 'reset' && about !== null && <ResetMember {...about} key={about.key} />}
      {dialog.name === 'remove' && about !== null && <RemoveMember {...about} key={about.key} />}
    </div>
  )
}

const columnsOf = (targetOf: (member: Member) => Target, dialog: Dialog): readonly Column<Member>[] => [
  {
    id: 'person',
    header: 'Person',
    cell: member => (
      <span className="flex items-center gap-3">
        <span
          aria-hidden
          className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent"
        >
          {member.person.name.slice(0, 1).toUpperCase()}
        </span>
        <span className="min-w-0">
          <span className="flex items-center gap-2">
            <span className="truncate font-medium">{member.person.name}</span>
            {targetOf(member).self === true && <Badge tone="quiet">You</Badge>}
            {member.disabled && <Badge tone="warning">Disabled</Badge>}
          </span>
          <span className="block truncate text-xs text-ink-3">{member.person.email}</span>
        </span>
      </span>
    ),
  },
  {
    id: 'role',
    header: 'Role',
    cell: ({ role, permissions }) => (
      <span className="flex flex-col items-start gap-0.5">
        <Badge tone={role === 'admin' ? 'accent' : 'quiet'}>{roleName(role)}</Badge>
        {role !== 'admin' && permissions.length > 0 && (
          <span className="text-2xs text-ink-3 max-sm:hidden">{permissions.map(permissionName).join(', ')}</span>
        )}
      </span>
    ),
  },
  {
    id: 'joined',
    header: 'Joined',
    className: 'max-sm:hidden',
    cell: ({ createdAt }) => (
      <time dateTime={createdAt} className="text-ink-2">
        {new Date(createdAt).toLocaleDateString('en', { day: 'numeric', month: 'short', year: 'numeric' })}
      </time>
    ),
  },
  {
    id: 'actions',
    header: 'Actions',
    quiet: true,
    cell: ({ id, person }) => (
      <span className="flex justify-end">
        <IconButton label={`Edit the role of ${person.name}`} onClick={() => dialog.open('edit', id)}>
          <Pencil className="size-4" aria-hidden />
        </IconButton>
        <IconButton label={`New password for ${person.name}`} onClick={() => dialog.open('reset', id)}>
          <KeyRound className="size-4" aria-hidden />
        </IconButton>
        <IconButton label={`Remove ${person.name}`} onClick={() => dialog.open('remove', id)}>
          <UserMinus className="size-4" aria-hidden />
        </IconButton>
      </span>
    ),
  },
]
