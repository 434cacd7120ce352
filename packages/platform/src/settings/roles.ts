import type { Environment } from './environment.ts'

const roles = ['api', 'account', 'gateway', 'worker'] as const

/** One part of the service that a process may take. */
export type Role = (typeof roles)[number]

export function readRoles(env: Environment): ReadonlySet<Role> {
  const parse = (text: string): ReadonlySet<Role> | undefined => {
    const named = text.split(',').map(name => roles.find(role => role === name.trim()))
    const known = named.filter(role => role !== undefined)
    return known.length === named.length ? new Set(known) : undefined
  }
  const meaning =
    'Roles of this process, separated by commas: `api`, `account`, `gateway`, `worker`. Set it to spread the service over several processes.'
  return env.parsed('BERTH_ROLES', meaning, 'all', parse, `a list of ${roles.join(', ')}`) ?? new Set(roles)
}
