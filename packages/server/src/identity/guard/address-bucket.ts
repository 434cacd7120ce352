import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Names the bucket of a client's address: an IPv4 address by itself, also where IPv6 carries it, and IPv6 by its /64. A
 * single IPv6 host commonly has a whole /64, so a bucket for each address would bound nobody.
 *
 * @param address as the system or a trusted proxy gives it
 */
export function addressBucket(address: string): string {
  const bare = address.replace(/%.*$/, '')
  if (isIP(bare) !== 6) return bare
  const parsed = ipaddr.IPv6.parse(bare)
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString()
  const network = parsed.parts.slice(0, 4).map(part => part.toString(16))
  return `${network.join(':')}::/64`
}
