import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Public by its number, and yet the address of a cloud's own services (Azure's wire server). */
const platformAddresses: ReadonlySet<string> = new Set(['168.63.129.16'])

/** The block that the registries hand out; whatever lies outside means something else, now or one day. */
const globalUnicast: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('2000::/3')
/** The 6bone's, returned in 2006 and never handed out again. */
const returned: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('3ffe::/16')

/**
 * Whether an address is one that the registries hand out to anybody: the one judgement of where programs and URLs that
 * callers bring may lead. Everything else is no: loopback, private, shared, link-local, multicast, documentation and
 * benchmark ranges, the services of clouds, and IPv6 that carries an IPv4 address (mapped, NAT64, 6to4, Teredo).
 *
 * @param address as the system or a DNS answer has it; other spellings are no
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  // The parser below takes octal, hexadecimal and shortened IPv4, and zones.
  if (family === 0 || address.includes('%')) return false
  if (family === 4) return ipaddr.IPv4.parse(address).range() === 'unicast' && !platformAddresses.has(address)
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.match(globalUnicast) && !parsed.match(returned) && parsed.range() === 'unicast'
}

/** Judges whether an address lies in one of these ranges (`198.51.100.0/24`). @throws Error for what is no range */
export function inRanges(ranges: readonly string[]): (address: string) => boolean {
  const parsed = ranges.map(range => ipaddr.parseCIDR(range))
  return address => {
    const one = ipaddr.parse(address)
    return parsed.some(([network, bits]) => network.kind() === one.kind() && one.match(network, bits))
  }
}
