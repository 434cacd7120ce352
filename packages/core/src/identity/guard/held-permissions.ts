import { type Permission, permissions, type Role } from '@berth/contract'

/** Returns the permissions of a member: an administrator holds all, others those that they were given. */
export const heldPermissions = (role: Role, given: readonly string[] | null): ReadonlySet<Permission> =>
  new Set(permissions.filter(permission => role === 'admin' || given?.includes(permission) === true))
