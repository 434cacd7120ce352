import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Returns the bucket of a client's address: an IPv4 address itself, even if mapped into IPv6, or the /64 of an IPv6
 * address. A single IPv6 host commonly has a whole /64, so one bucket per address would bound nobody.
 *
 * @param address as the system or a trusted proxy reports it
 */
export function addressBucket(address: string): string {
  const bare = address.replace(/%.*$/, '')
  if (isIP(bare) !== 6) return bare
  const parsed = ipaddr.IPv6.parse(bare)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  const network = parsed.parts.slice(0, 4).map(part => part.toString(16))
  return `${network.join(':')}::/64`
}
