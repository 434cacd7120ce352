import type { IncomingMessage } from 'node:http'
import proxyAddress from '@fastify/proxy-addr'

/**
 * Returns how the address of a client is found where no framework does: the last one in `X-Forwarded-For` that is not a
 * trusted proxy's.
 */
export function clientAddressBehind(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trusts = proxyAddress.compile([...trustedProxies])
  return request => proxyAddress(request, trusts) ?? ''
}
