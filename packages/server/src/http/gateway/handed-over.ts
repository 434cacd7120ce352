import type { IncomingMessage, RequestListener } from 'node:http'

/**
 * Marks requests that a worker of this process passes to its gateway directly. That worker waits until its Run's usage
 * is stored before the Run's next request, and before the Run's end.
 */
export class HandedOver {
  readonly #requests = new WeakSet<IncomingMessage>()

  /** Wraps the gateway's listener into one for requests that are handed over. */
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
