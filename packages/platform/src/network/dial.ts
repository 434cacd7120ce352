import { lookup, Resolver } from 'node:dns/promises'
import { connect, type Socket } from 'node:net'

/** The network access of this process; tests replace it. */
export interface Network {
  /** Returns every address of a name as this machine resolves it, local tables included, in the order to try them. */
  lookUp(name: string): Promise<readonly string[]>
  /** Returns every address of a name in DNS. The name is complete: no search list applies. */
  resolve(name: string, signal: AbortSignal): Promise<readonly string[]>
  /** Connects to an address, never to a name. */
  dial(address: string, port: number, signal: AbortSignal): Promise<Socket>
  /** The authorities, in PEM, by which hosts prove to be themselves. Absent: those of Node and of this system. */
  readonly authorities?: readonly string[]
}

/**
 * Returns the network of this machine.
 * @param servers DNS servers to use instead of the system's
 */
export function openNetwork(servers?: readonly string[]): Network {
  return {
    async lookUp(name) {
      return (await lookup(name, { all: true })).map(found => found.address)
    },
    async resolve(name, signal) {
      signal.throwIfAborted()
      // Not `lookup`: that takes a thread of a pool of four, and a sandbox could keep all of them waiting.
      const resolver = new Resolver({ timeout: 2000, tries: 2 })
      if (servers !== undefined) resolver.setServers(servers)
      const cancel = () => resolver.cancel()
      signal.addEventListener('abort', cancel, { once: true })
      try {
        const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
        signal.throwIfAborted()
        const found = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
        if (found.length === 0 && answers[0].status === 'rejected') throw answers[0].reason
        return found
      } finally {
        signal.removeEventListener('abort', cancel)
      }
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
}

/** The host is, or resolves to, an address that must not be dialled. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError'
}

/**
 * Checks all addresses, then connects to the first that answers. A name with mixed answers is an attack. It dials only
 * the checked addresses, so a later answer of the name changes nothing.
 * @throws ForbiddenAddressError before dialling, if any of the addresses is forbidden
 */
export async function dialJudged(
  network: Network,
  to: { readonly host: string; readonly port: number; readonly addresses: readonly string[] },
  mayDial: (address: string) => boolean,
  signal: AbortSignal,
): Promise<Socket> {
  if (!to.addresses.every(address => mayDial(address))) {
    throw new ForbiddenAddressError(`${to.host} has an address that is not public`)
  }
  let last: unknown = new Error(`${to.host} has no address`)
  for (const address of to.addresses) {
    signal.throwIfAborted()
    try {
      return await network.dial(address, to.port, signal)
    } catch (error) {
      last = error
    }
  }
  throw last
}
