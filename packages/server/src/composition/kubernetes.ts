import { lookup } from 'node:dns/promises'
import type { Context } from '@berth/core/context.ts'
import type { HostIdentity } from '@berth/core/hosts/host-identity.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { readIfThere } from '@berth/platform/settings/read-if-there.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import { readDeploymentId } from '@berth/platform/storage/postgres/deployment-id.ts'
import type { Registry } from 'prom-client'
import { findKubernetes } from './optional-packages.ts'

/** Time from the end of a host's room to the end of its pod. */
const GRACE_MS = 30_000
const BURST = 10

/** The parts of a worker that need a cluster. */
export interface Cluster {
  readonly identity: HostIdentity
  readonly provisioner: Service
}

/**
 * Opens the cluster whose pods hold sandboxes; null if the settings name none.
 * @throws StartError if this process has no token for it, or was built without Kubernetes
 */
export async function openCluster(
  context: Context,
  { kubernetes, http, sandboxes }: Settings,
  registry: Registry,
  stack: AsyncDisposableStack,
): Promise<Cluster | null> {
  if (kubernetes === undefined) return null
  const found = await findKubernetes()
  if (found === null)
    throw new StartError('BERTH_KUBERNETES_IMAGE makes pods: this service was built without Kubernetes')
  const { ClusterApi, Pods, Provisioner, podIdentity, podMetrics, podTemplate, selectorOf } = found
  const { namespace, serviceAccount, tokenFile, caFile, hostsUrl, pool } = kubernetes
  const owner = { deployment: await readDeploymentId(context.db), instance: kubernetes.instance }
  const token = () => {
    const found = readIfThere(tokenFile)?.trim()
    if (found === undefined || found === '') throw new StartError(`there is no token for the cluster in ${tokenFile}`)
    return found
  }
  token()
  const api = stack.use(new ClusterApi({ url: kubernetes.api, ca: readIfThere(caFile), token }))
  const scope = { namespace, selector: selectorOf(owner) }
  const pods = new Pods(api, scope)
  const name = `${owner.instance}/${namespace}`
  const { db, wakeups, clock, log } = context
  // The rest decides the form of a pod: pods of other settings are replaced.
  const { idle, most, startMs, api: _, tokenFile: __, caFile: ___, instance: ____, ...rest } = kubernetes
  const template = podTemplate(owner, { ...rest, release: http.release, bounds: sandboxes.bounds })
  return {
    identity: podIdentity({ api, pods, owner, namespace, serviceAccount, provisioner: name, pool }),
    provisioner: new Provisioner({
      ...{ db, wakeups, clock, log, pods, name },
      metrics: podMetrics(registry),
      template,
      plan: { idle, most, startMs, graceMs: GRACE_MS, burst: BURST },
      address: async () => (await lookup(new URL(hostsUrl).hostname)).address,
    }),
  }
}
