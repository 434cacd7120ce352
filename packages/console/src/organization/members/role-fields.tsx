import type { Permission, Role } from '@berth/contract'
import { Field, Select } from '../../ui/field.tsx'

/** A role with the permissions beside it. */
export interface Standing {
  readonly role: string
  readonly permissions: readonly string[]
}

const roleWords: Readonly<Record<Role, readonly [name: string, means: string]>> = {
  member: ['Member', 'Starts and steers Sessions, answers agents, delivers changes.'],
  admin: ['Administrator', 'Does all that members do, and manages people, access, webhooks and limits.'],
}

const permissionWords: Readonly<Record<Permission, readonly [name: string, means: string]>> = {
  'organization.integrations.manage': [
    'Manage integrations',
    'Integrations, their API keys, installations and grants.',
  ],
  'organization.applications.manage': ['Manage apps', 'Apps, the keys of their backends, and webhooks.'],
}

/** Returns a role's name for people. */
export function roleName(role: string): string {
  return roleWords[role as Role]?.[0] ?? role
}

/** Returns a permission's name for people. */
export function permissionName(permission: string): string {
  return permissionWords[permission as Permission]?.[0] ?? permission
}

/** Role and permissions as fields. An administrator holds every permission, so those are shown as given. */
export function RoleFields(props: {
  value: Standing
  onChange: (value: Standing) => void
  /** Why the role may not be lowered; null if it may. */
  fixed: string | null
}) {
  const { value, onChange, fixed } = props
  const isAdmin = value.role === 'admin'
  return (
    <>
      <Field label="Role" hint={fixed ?? roleWords[value.role as Role]?.[1]}>
        {attributes => (
          <Select
            {...attributes}
            value={value.role}
            disabled={fixed !== null}
            onChange={event => onChange({ ...value, role: event.target.value })}
          >
            {Object.entries(roleWords).map(([role, [name]]) => (
              <option key={role} value={role}>
                {name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <fieldset className="flex flex-col gap-2" disabled={isAdmin}>
        <legend className="mb-1.5 text-[0.8125rem] font-medium">Permissions</legend>
        {Object.entries(permissionWords).map(([permission, [name, means]]) => (
          <label key={permission} className="flex items-start gap-2.5 text-[0.8125rem]">
            <input
              type="checkbox"
              className="mt-0.5 size-4 accent-accent"
              checked={isAdmin || value.permissions.includes(permission)}
              onChange={event =>
                onChange({
                  ...value,
                  permissions: event.target.checked
                    ? [...value.permissions, permission]
                    : value.permissions.filter(other => other !== permission),
                })
              }
            />
            <span>
              {name}
              <span className="block text-xs text-ink-3">
                {means}
                {isAdmin && ' Administrators have it.'}
              </span>
            </span>
          </label>
        ))}
      </fieldset>
    </>
  )
}
