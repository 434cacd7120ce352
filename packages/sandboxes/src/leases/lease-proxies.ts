import { allSettled } from '@berth/platform/kit/all-settled.ts'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import { type SandboxEgress, SandboxGoneError } from '../driver.ts'
import { type EgressProxy, rulesOf, serveEgressProxy } from '../egress/proxy.ts'
import type { Instance } from '../linux/instance.ts'
import type { DriverLog } from './driver-log.ts'
import { leaseFiles, proxySocketName } from './lease-files.ts'

/** The proxies that this process serves for sandboxes. */
export interface LeaseProxies extends AsyncDisposable {
  /**
   * Serves a sandbox's proxy, or changes and reopens it.
   * @throws SandboxGoneError
   */
  serve(leaseId: string, egress: SandboxEgress): Promise<void>
  /** Closes its connections and refuses new ones until it is served again. */
  deny(leaseId: string): void
  end(leaseId: string): Promise<void>
}

/** Keeps the proxies of an instance's leases; each listens on a socket in its lease's directory. */
export function openLeaseProxies(
  instance: Instance,
  { log, network }: { readonly log: Pick<DriverLog, 'warn'>; readonly network?: Network },
): LeaseProxies {
  const proxies = new Map<string, EgressProxy>()
  return {
    async serve(leaseId, egress) {
      const rules = rulesOf(egress)
      const serving = proxies.get(leaseId)
      if (serving) return serving.allow(rules)
      try {
        proxies.set(
          leaseId,
          await serveEgressProxy({
            ...rules,
            dir: leaseFiles(instance, leaseId).run,
            name: proxySocketName,
            log: { warn: (fields, message) => log.warn({ ...fields, leaseId }, message) },
            network,
          }),
        )
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error
        throw new SandboxGoneError(`sandbox ${leaseId} does not exist`, { cause: error })
      }
    },
    deny: leaseId => proxies.get(leaseId)?.deny(),
    async end(leaseId) {
      await proxies.get(leaseId)?.[Symbol.asyncDispose]()
      proxies.delete(leaseId)
    },
    async [Symbol.asyncDispose]() {
      await allSettled([...proxies.values()].map(proxy => proxy[Symbol.asyncDispose]()))
      proxies.clear()
    },
  }
}
