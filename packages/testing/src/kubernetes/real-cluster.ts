import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { env } from 'node:process'
import { ClusterApi } from '@berth/kubernetes/api/cluster-api.ts'
import type { Fixed } from '@berth/platform/settings/fixed.ts'

/** The cluster beside which `script/test-kubernetes` runs this process. */
export interface RealCluster {
  readonly api: string
  readonly directory: string
  readonly image: string
  readonly hostImage: string
  /** What the chart gives a worker, of its settings that concern pods. */
  readonly variables: Readonly<Record<string, string>>
}

/** @throws Error if there is none */
export function realCluster(): RealCluster {
  const described = env['BERTH_TEST_CLUSTER']
  if (described === undefined) throw new Error('there is no cluster: script/test-kubernetes starts one')
  return JSON.parse(described) as RealCluster
}

/** Settings of a worker that keeps its pods there, with the token and the rights that the chart gives it. */
export function workerSettings({ api, directory, variables }: RealCluster): {
  readonly variables: Record<string, string>
  readonly fixed: Partial<Fixed>
} {
  return {
    // Pods dial the node.
    variables: { ...variables, BERTH_HOST: '0.0.0.0' },
    fixed: {
      kubernetesApiUrl: api,
      kubernetesTokenFile: join(directory, 'worker.token'),
      kubernetesCaFile: join(directory, 'api.crt'),
    },
  }
}

/** Makes a client with the token of a worker. */
export function workerApi({ api, directory }: RealCluster): ClusterApi {
  const read = (name: string) => readFileSync(join(directory, name), 'utf8')
  return new ClusterApi({ url: api, ca: read('api.crt'), token: () => read('worker.token') })
}
