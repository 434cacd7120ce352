import { lookup } from 'node:dns/promises'
import { connect, isIP, type Socket } from 'node:net'
import type { ProxyTarget, ProxyVerdict } from './reach-policy.ts'

/** The ways out of this process; tests hand in their own. */
export interface Network {
  /** Every address of a name, in the order to try them. */
  resolve(name: string): Promise<readonly string[]>
  /** Connects to an address, never to a name. */
  dial(address: string, port: number, signal: AbortSignal): Promise<Socket>
}

export const realNetwork: Network = {
  async resolve(name) {
    return (await lookup(name, { all: true })).map(found => found.address)
  },
  async dial(address, port, signal) {
    signal.throwIfAborted()
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    socket.once('connect', resolve).once('error', reject)
    try {
      await promise
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
      socket.off('connect', resolve).off('error', reject)
    }
  },
}

/** Every address of a name is one that the policy does not let out to. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError'
}

/**
 * Connects to an allowed target: resolves its name once, then tries the addresses that the verdict accepts in turn.
 *
 * @throws ForbiddenAddressError when one of the addresses is not accepted, since a name with mixed answers is an attack
 */
export async function dialTarget(
  network: Network,
  target: ProxyTarget,
  verdict: ProxyVerdict & { kind: 'allow' },
  signal: AbortSignal,
): Promise<Socket> {
  const literal = target.host.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(literal) ? [literal] : await network.resolve(literal)
  if (!addresses.every(address => verdict.mayDial(address))) {
    throw new ForbiddenAddressError(`${target.host} has an address that sandboxes may not reach`)
  }
  let last: unknown = new Error(`${target.host} has no address`)
  for (const address of addresses) {
    signal.throwIfAborted()
    try {
      return await network.dial(address, target.port, signal)
    } catch (error) {
      last = error
    }
  }
  throw last
}
