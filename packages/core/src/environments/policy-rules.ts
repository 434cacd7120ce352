import type { EgressPolicy, Issue } from '@berth/contract'
import { shareHosts } from '@berth/platform/network/host-pattern.ts'

/** Returns the hosts of a list that an organization closes, as faults of their places in it. */
export function closedHosts(
  hosts: readonly string[],
  { neverHosts }: EgressPolicy,
  path: readonly (string | number)[],
): readonly Issue[] {
  return hosts.flatMap((host, index) => {
    const closed = neverHosts.find(never => shareHosts(host, never))
    if (closed === undefined) return []
    const message = `names a host that the organization closes to every environment (${closed}); leave it out, or ask an administrator`
    return [{ path: [...path, index], message }]
  })
}

/** Returns whether an organization keeps a secret for other environments than this one. */
export function isKeptFrom(
  name: string,
  environmentId: string,
  { secretEnvironments }: Pick<EgressPolicy, 'secretEnvironments'>,
): boolean {
  // The policy's members are names that callers chose, so `constructor` may be one.
  const environments = Object.hasOwn(secretEnvironments, name) ? secretEnvironments[name] : undefined
  return environments !== undefined && !environments.includes(environmentId.toLowerCase())
}
