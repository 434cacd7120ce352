import { randomUUID } from 'node:crypto'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import { type HostContent, hostCalls } from '@berth/sandboxes/remote/host-calls.ts'
import { workerServices } from '@berth/sandboxes/remote/worker-services.ts'
import { type DialOptions, ServiceLine } from './dial-service.ts'

export interface FarHostOptions extends DialOptions {
  readonly driver: SandboxDriver
  readonly content: HostContent
  /** Time between two looks at whether the service has been silent for too long. */
  readonly pollMs?: number
}

const POLL_MS = 30_000

/**
 * Holds sandboxes for a service that this machine dials, until the signal aborts. Sandboxes stay when it ends. Those of a
 * service that has been silent for longer than any lease lasts are destroyed, whether the service comes back or not.
 * @throws HostRefused
 */
export async function runFarHost(options: FarHostOptions, stopping: AbortSignal): Promise<void> {
  const { driver, content, memory, log, self, pollMs = POLL_MS } = options
  memory.prune(await driver.list())
  const service = new ServiceLine(options)
  const handlers = hostCalls({
    driver,
    content,
    services: workerServices(service.callBack),
    boot: randomUUID(),
    using: (leaseId, contents) => memory.keep(leaseId, contents, self.capacity),
    gone: leaseId => memory.forget(leaseId),
  })
  const endAbandoned = async () => {
    if (service.isConnected || !memory.isAbandoned(Date.now())) return
    const left = await driver.list()
    if (left.length === 0) return
    log.warn({ leases: left }, 'the service has been silent for longer than a lease lasts: its sandboxes are ended')
    const end = async (id: string) => {
      await driver.destroy(id)
      memory.forget(id)
    }
    await allSettled(left.map(end))
  }
  await endAbandoned()
  let ending: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    ending = ending.then(endAbandoned).catch(error => log.warn({ err: error }, 'sandboxes could not be ended'))
  }, pollMs)
  try {
    await service.run(handlers, stopping)
  } finally {
    clearInterval(timer)
    await ending
  }
}
