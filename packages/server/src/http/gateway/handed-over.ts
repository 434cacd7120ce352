import type { IncomingMessage, RequestListener } from 'node:http'

/**
 * Requests that a worker of this process hands to its gateway without sending them. That worker begins no other request
 * of the same Run, and ends no Run, before all that its Runs have used is kept.
 */
export class HandedOver {
  readonly #requests = new WeakSet<IncomingMessage>()

  /** What answers a request that is handed over, where `gateway` answers one that is sent. */
  to(gateway: RequestListener): RequestListener {
    return (incoming, outgoing) => {
      this.#requests.add(incoming)
      gateway(incoming, outgoing)
    }
  }

  has(incoming: IncomingMessage): boolean {
    return this.#requests.has(incoming)
  }
}
