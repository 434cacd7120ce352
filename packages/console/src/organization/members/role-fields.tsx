import type { Permission, Role } from '@berth/contract'
import { TickBox } from '../../ui/tick-box.tsx'
import { ChoiceField, withTick } from '../form-dialog.tsx'
import type { KeptForm } from '../kept-form.ts'

/** A role with the permissions beside it. */
export interface RoleValues {
  readonly role: string
  readonly permissions: readonly string[]
}

const roleLabel: Readonly<Record<Role, readonly [name: string, means: string]>> = {
  member: ['Member', 'Starts and steers Sessions, answers agents, delivers changes.'],
  admin: ['Administrator', 'Does all that members do, and manages people, access, webhooks and limits.'],
}

const permissionLabel: Readonly<Record<Permission, readonly [name: string, means: string]>> = {
  'organization.integrations.manage': [
    'Manage integrations',
    'Integrations, their API keys, installations and grants.',
  ],
  'organization.applications.manage': ['Manage apps', 'Apps, the keys of their backends, and webhooks.'],
}

/** Returns a role's name for people. */
export function roleName(role: string): string {
  return roleLabel[role as Role]?.[0] ?? role
}

/** Returns a permission's name for people. */
export function permissionName(permission: string): string {
  return permissionLabel[permission as Permission]?.[0] ?? permission
}

/** Role and permissions as fields. An administrator holds every permission, so those are shown as given. */
export function RoleFields<T extends RoleValues>(props: {
  form: KeptForm<T>
  /** Why the role may not be lowered; null if it may. */
  fixed: string | null
}) {
  const { fixed } = props
  // A form of more fields is one of these two as well; its type does not say so.
  const { fields, values } = props.form as unknown as KeptForm<RoleValues>
  const isAdmin = values.role === 'admin'
  return (
    <>
      <ChoiceField
        label="Role"
        hint={fixed ?? roleLabel[values.role as Role]?.[1]}
        choices={Object.entries(roleLabel).map(([role, [name]]) => [role, name])}
        value={values.role}
        disabled={fixed !== null}
        onChange={event => fields.setValue('role', event.target.value)}
      />
      <fieldset className="flex flex-col gap-2" disabled={isAdmin}>
        <legend className="mb-1.5 text-[0.8125rem] font-medium">Permissions</legend>
        {Object.entries(permissionLabel).map(([permission, [name, means]]) => (
          <TickBox
            key={permission}
            means={isAdmin ? `${means} Administrators have it.` : means}
            checked={isAdmin || values.permissions.includes(permission)}
            onChange={event =>
              fields.setValue('permissions', withTick(values.permissions, permission, event.target.checked))
            }
          >
            {name}
          </TickBox>
        ))}
      </fieldset>
    </>
  )
}
