import { networkInterfaces } from 'node:os'
import { isPublicAddress } from './public-address.ts'

/**
 * Returns a function that tells whether a URL or a name of somebody else may lead to an address: a public one, which the
 * operator does not refuse, and which is not of this machine. What listens here trusts what comes from here, and a
 * firewall sees no packet that stays on the machine.
 * @param ownAddresses this machine's addresses
 */
export function dialRule(
  isRefused: (address: string) => boolean,
  ownAddresses: () => ReadonlySet<string> = addressesOfThisMachine,
): (address: string) => boolean {
  return address => isPublicAddress(address) && !isRefused(address) && !ownAddresses().has(address)
}

function addressesOfThisMachine(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap(found => found?.map(({ address }) => address) ?? []))
}
