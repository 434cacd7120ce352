import { isIP, type Socket } from 'node:net'
import { dialJudged, type Network } from '@berth/platform/network/dial.ts'
import type { ProxyTarget, ProxyVerdict } from './reach-policy.ts'

/**
 * Connects to an allowed target. It resolves the name once and dials the addresses found then.
 * @throws ForbiddenAddressError if a public name has an address that is not public
 */
export async function dialTarget(
  network: Network,
  { host, port }: ProxyTarget,
  verdict: ProxyVerdict & { kind: 'allow' },
  signal: AbortSignal,
): Promise<Socket> {
  switch (verdict.how) {
    case 'address':
      return network.dial(verdict.address, port, signal)
    case 'public': {
      const addresses = await network.resolve(verdict.name, signal)
      return dialJudged(network, { host, port, addresses }, verdict.mayDial, signal)
    }
    case 'named': {
      const literal = host.replace(/^\[(.*)\]$/, '$1')
      const addresses = isIP(literal) === 0 ? await network.lookUp(literal) : [literal]
      return dialJudged(network, { host, port, addresses }, () => true, signal)
    }
  }
}
