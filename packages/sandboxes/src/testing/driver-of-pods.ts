import type { SandboxDriver, SandboxEgress, SandboxSpec } from '../driver.ts'

/** Pods that have a lease each. */
export interface PodsOfLeases {
  describe(): readonly string[]
  /** Asks the driver of a lease's pod; for a lease that never was, that of a pod without one. */
  call<T>(leaseId: string, ask: (driver: SandboxDriver) => Promise<T>): Promise<T>
  /** What a worker adds to the egress of a lease. */
  egress(leaseId: string, egress: SandboxEgress): SandboxEgress
  create(spec: SandboxSpec): Promise<void>
  destroy(leaseId: string): Promise<void>
  list(): Promise<string[]>
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes a driver of many leases out of pods that have one each. */
export function driverOfPods(pods: PodsOfLeases): SandboxDriver {
  const at =
    <
      M extends
        | 'attach'
        | 'writeInputs'
        | 'freeze'
        | 'thaw'
        | 'park'
        | 'stateOf'
        | 'endOrphans'
        | 'keepOrphans'
        | 'run'
        | 'settleBaseline'
        | 'hasDirectory',
    >(
      method: M,
    ) =>
    async (...given: Parameters<SandboxDriver[M]>): Promise<never> =>
      (await pods.call(given[0] as string, driver =>
        (driver[method] as (...all: unknown[]) => Promise<unknown>)(...given),
      )) as never
  return {
    kind: 'pod',
    describe: () => pods.describe(),
    lowerOwner: () => null,
    layers: () => ({ fault: 'its pods show none' }),
    create: async spec => pods.create({ ...spec, egress: pods.egress(spec.leaseId, spec.egress) }),
    serveProxy: (leaseId, egress) =>
      pods.call(leaseId, driver => driver.serveProxy(leaseId, pods.egress(leaseId, egress))),
    attach: at('attach'),
    writeInputs: at('writeInputs'),
    freeze: at('freeze'),
    thaw: at('thaw'),
    park: at('park'),
    stateOf: at('stateOf'),
    endOrphans: at('endOrphans'),
    keepOrphans: at('keepOrphans'),
    run: at('run'),
    settleBaseline: at('settleBaseline'),
    hasDirectory: at('hasDirectory'),
    destroy: leaseId => pods.destroy(leaseId),
    list: () => pods.list(),
    [Symbol.asyncDispose]: () => pods[Symbol.asyncDispose](),
  }
}
