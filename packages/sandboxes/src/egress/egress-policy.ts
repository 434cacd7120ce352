import { dialRule } from '@berth/platform/network/dial-rule.ts'
import { fitsHost } from '@berth/platform/network/host-pattern.ts'
import { inRanges } from '@berth/platform/network/public-address.ts'
import { readPublicHost } from '@berth/platform/network/public-name.ts'
import type { PublicHosts, SandboxEgress } from '../driver.ts'
import { createReachPolicy, type ProxyPolicy } from './reach-policy.ts'

/**
 * Returns the policy of a sandbox: the operator's origins, and the part of the public network that is open to it.
 * @throws TypeError if an entry of `reach` is not an origin
 */
export function createEgressPolicy({ reach, publicHosts }: Pick<SandboxEgress, 'reach' | 'publicHosts'>): ProxyPolicy {
  const named = createReachPolicy(reach)
  if (publicHosts === undefined) return named
  const open = createPublicPolicy(publicHosts)
  return target => {
    const verdict = named(target)
    return verdict.kind === 'allow' ? verdict : open(target)
  }
}

/**
 * Allows public names and addresses on the open ports. A name that may be public is resolved, and its addresses are
 * checked then; everything else is denied before.
 * @param ownAddresses this machine's addresses, which a sandbox must not reach from outside
 */
export function createPublicPolicy(
  { ports, only, refused }: PublicHosts,
  ownAddresses?: () => ReadonlySet<string>,
): ProxyPolicy {
  const openPorts = new Set(ports)
  const mayDial = dialRule(inRanges(refused), ownAddresses)
  return ({ host, port }) => {
    if (!openPorts.has(port)) return { kind: 'deny', reason: `port ${port} of public hosts is not open to sandboxes` }
    const requested = readPublicHost(host)
    if (requested.kind === 'private') return { kind: 'deny', reason: `${host} is not the name of a public host` }
    if (only !== undefined && !(requested.kind === 'name' && only.some(pattern => fitsHost(requested.name, pattern)))) {
      return { kind: 'deny', reason: `${host} is not among the hosts that sandboxes may reach` }
    }
    if (requested.kind === 'name') return { kind: 'allow', how: 'public', name: requested.name, mayDial }
    return mayDial(requested.address)
      ? { kind: 'allow', how: 'address', address: requested.address }
      : { kind: 'deny', reason: `${host} is not a public address` }
  }
}
