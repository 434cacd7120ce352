import { defaultBounds } from '@berth/sandboxes/bubblewrap/options.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { sandboxDriverContract } from '@berth/sandboxes/testing/contract-suite.ts'
import { realCluster } from '@berth/testing/kubernetes/real-cluster.ts'
import { RealPods } from '@berth/testing/kubernetes/real-pods.ts'

const MIB = 1024 ** 2

sandboxDriverContract('pods of a real cluster', async () => {
  const cluster = realCluster()
  const bounds = {
    ...defaultBounds,
    ...{ memoryBytes: 256 * MIB, cpus: 1, diskBytes: 64 * MIB },
    // The kubelet's `podPidsLimit`, for the whole pod.
    processes: 400,
  }
  const pods = await RealPods.open(cluster, bounds)
  const driver = pods.driver()
  return {
    driver,
    node: insidePaths.node,
    bounds,
    hostPaths: [cluster.directory, import.meta.dirname, '/root', '/var/lib/berth/host'],
    shows: { sys: true },
    enforces: { cpu: true, wholeMemory: true, exactDisk: false },
    lacks: { users: true, confinement: true, emptyNetwork: true },
    async createInProcessThatIsKilled(spec) {
      await driver.create(spec)
      await pods.killHost(spec.leaseId)
    },
    dispose: () => pods[Symbol.asyncDispose](),
  }
})
