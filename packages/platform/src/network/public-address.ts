import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Globally routable, but an address of a cloud's internal services (Azure's wire server). */
const platformAddresses: ReadonlySet<string> = new Set(['168.63.129.16'])

/** The block that the registries assign from; other addresses have, or may get, another meaning. */
const globalUnicast: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('2000::/3')
/** The former 6bone, returned in 2006 and never reassigned. */
const returned: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('3ffe::/16')

/**
 * Returns whether an address is public, that is, assigned by the registries to anyone. It alone decides where programs,
 * and URLs from callers, may connect. All others are not public: loopback, private, shared, link-local, multicast,
 * documentation and benchmark ranges, cloud services, and IPv6 that carries an IPv4 address (mapped, NAT64, 6to4,
 * Teredo).
 * @param address in the canonical form of the system or a DNS answer; other spellings are not public
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  // The parser below accepts octal, hexadecimal and shortened IPv4, and zones.
  if (family === 0 || address.includes('%')) return false
  if (family === 4) return ipaddr.IPv4.parse(address).range() === 'unicast' && !platformAddresses.has(address)
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.match(globalUnicast) && !parsed.match(returned) && parsed.range() === 'unicast'
}

/**
 * Returns a function that tells whether an address lies in one of these ranges (`198.51.100.0/24`).
 * @throws Error for an invalid range
 */
export function inRanges(ranges: readonly string[]): (address: string) => boolean {
  const parsed = ranges.map(range => ipaddr.parseCIDR(range))
  return address => {
    const one = ipaddr.parse(address)
    return parsed.some(([network, bits]) => network.kind() === one.kind() && one.match(network, bits))
  }
}
