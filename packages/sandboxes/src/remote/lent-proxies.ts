import type { Duplex } from 'node:stream'
import type { Network } from '@berth/platform/network/dial.ts'
import type { SandboxEgress } from '../driver.ts'
import { type OpenEgressProxy, openEgressProxy, rulesOf } from '../egress/proxy.ts'

/**
 * The proxies of sandboxes whose host has no network of its own: this process judges and dials for them, and the host only
 * passes bytes on. So a sandbox that took its host over would reach no more than before.
 */
export class LentProxies implements Disposable {
  readonly #network: Network
  readonly #log: { warn(fields: object, message: string): void }
  readonly #proxies = new Map<string, OpenEgressProxy>()

  constructor(network: Network, log: { warn(fields: object, message: string): void }) {
    this.#network = network
    this.#log = log
  }

  /** Changes the rules of a sandbox's proxy, if it has used one. */
  allow(leaseId: string, egress: SandboxEgress): void {
    this.#proxies.get(leaseId)?.allow(rulesOf(egress))
  }

  /** Closes all connections of a sandbox. */
  deny(leaseId: string): void {
    const proxy = this.#proxies.get(leaseId)
    this.#proxies.delete(leaseId)
    proxy?.deny()
    void proxy?.[Symbol.asyncDispose]()
  }

  /** Serves one connection of a sandbox. */
  take(leaseId: string, egress: SandboxEgress, connection: Duplex): void {
    let proxy = this.#proxies.get(leaseId)
    if (proxy === undefined) {
      const log = { warn: (fields: object, message: string) => this.#log.warn({ ...fields, leaseId }, message) }
      proxy = openEgressProxy({ ...rulesOf(egress), log, network: this.#network })
      this.#proxies.set(leaseId, proxy)
    }
    proxy.take(connection)
  }

  [Symbol.dispose](): void {
    for (const leaseId of [...this.#proxies.keys()]) this.deny(leaseId)
  }
}
