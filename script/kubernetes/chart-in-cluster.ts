import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClusterApi } from '../../packages/kubernetes/src/api/cluster-api.ts'
import { ClusterError } from '../../packages/kubernetes/src/api/cluster-error.ts'
import { leastValues, type ManifestObject, renderChart } from '../lib/helm.ts'
import { SANDBOX_IMAGE, SERVICE_IMAGE } from './images.ts'

const RELEASE = 'berth'
const MIB = 1024 ** 2
/** Versions of the API that Kubernetes 1.20 does not have. */
const newer = ['policy/v1']
const clusterWide = ['Namespace', 'ClusterRole', 'ClusterRoleBinding']

const [repository = '', tag = ''] = SANDBOX_IMAGE.split(':')
const [serviceRepository = '', serviceTag = ''] = SERVICE_IMAGE.split(':')
const values = {
  ...leastValues,
  image: { repository: serviceRepository, tag: serviceTag },
  // The processes run beside the cluster, in the tests.
  ...{ api: { replicas: 0 }, gateway: { replicas: 0 }, worker: { replicas: 0 } },
  sandboxes: {
    image: { repository, tag },
    ...{ idle: 2, most: 20, cpus: 1, memoryBytes: 512 * MIB, diskBytes: 256 * MIB },
  },
}

interface Deployment extends ManifestObject {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly env: readonly { name: string; value?: string }[] }[] }
    }
  }
}

/**
 * Installs the chart, but for the kinds of objects that this release of Kubernetes does not have, and gets a worker its token.
 * @returns the variables that the chart gives a worker about pods
 */
export async function installChart(api: ClusterApi, directory: string): Promise<Readonly<Record<string, string>>> {
  await create(api, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: RELEASE } })
  const objects = renderChart(values, RELEASE, RELEASE)
  for (const object of objects.toSorted((one, other) => orderOf(one) - orderOf(other))) {
    if (!newer.includes(object.apiVersion)) await create(api, object)
  }
  const { status } = await api.ask({
    method: 'POST',
    path: `/api/v1/namespaces/${RELEASE}/serviceaccounts/${RELEASE}-worker/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 86_400 } },
  })
  await writeFile(join(directory, 'worker.token'), (status as { token: string }).token)
  const worker = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === `${RELEASE}-worker`)
  const env = (worker as Deployment | undefined)?.spec.template.spec.containers[0]?.env ?? []
  const ours = env.filter(({ name }) => /^BERTH_(KUBERNETES|SANDBOX|HOSTS|COMPUTE)/.test(name))
  return Object.fromEntries(ours.map(({ name, value = '' }) => [name, value]))
}

/** Namespaces come first, and what runs last. */
const orderOf = ({ kind }: ManifestObject): number => (kind === 'Namespace' ? 0 : kind === 'Deployment' ? 2 : 1)

/** Creates an object. @throws ClusterError unless it is there */
async function create(api: ClusterApi, object: ManifestObject): Promise<void> {
  const { apiVersion, kind, metadata } = object
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const place = clusterWide.includes(kind) ? '' : `/namespaces/${metadata.namespace}`
  const plural = kind === 'NetworkPolicy' ? 'networkpolicies' : `${kind.toLowerCase()}s`
  try {
    await api.ask({ method: 'POST', path: `${root}${place}/${plural}`, body: object })
  } catch (error) {
    if (!(error instanceof ClusterError) || error.reason !== 'AlreadyExists') throw error
  }
}
