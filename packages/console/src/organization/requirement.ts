import type { Permission } from '@berth/contract'
import type { Membership } from '../api/identity.ts'

/** The role or permissions that a page or an action needs. */
export type Requirement = 'membership' | 'administrator' | Permission

const reasons: Readonly<Record<Requirement, string>> = {
  membership: 'This is for members of the organization.',
  administrator: 'This is for administrators. Ask one of yours.',
  'organization.integrations.manage':
    'This needs the permission to manage integrations. An administrator can give it to you.',
  'organization.applications.manage': 'This needs the permission to manage apps. An administrator can give it to you.',
}

/** Returns true if a member has the role or permissions that a page or an action needs. */
export function meetsRequirement(
  need: Requirement,
  { role, capabilities }: Pick<Membership, 'role' | 'capabilities'>,
): boolean {
  if (need === 'membership') return true
  // An administrator holds every permission; the service lists them.
  return need === 'administrator' ? role === 'admin' : capabilities.includes(need)
}

/** Returns a text that names the missing role or permission. */
export function reasonFor(need: Requirement): string {
  return reasons[need]
}
