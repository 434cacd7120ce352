import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { env } from 'node:process'
import { ClusterApi } from '../../../src/kubernetes/api/cluster-api.ts'

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
  const said = env['BERTH_TEST_CLUSTER']
  if (said === undefined) throw new Error('there is no cluster: script/test-kubernetes starts one')
  return JSON.parse(said) as RealCluster
}

/** Settings of a worker that keeps its pods there, with the token and the rights that the chart gives it. */
export function workerVariables({ api, directory, variables }: RealCluster): Record<string, string> {
  return {
    ...variables,
    BERTH_KUBERNETES_API: api,
    BERTH_KUBERNETES_TOKEN_FILE: join(directory, 'worker.token'),
    BERTH_KUBERNETES_CA_FILE: join(directory, 'api.crt'),
    // Pods dial the node.
    BERTH_HOST: '0.0.0.0',
  }
}

/** Makes a client with the token of a worker. */
export function workerApi({ api, directory }: RealCluster): ClusterApi {
  const read = (name: string) => readFileSync(join(directory, name), 'utf8')
  return new ClusterApi({ url: api, ca: read('api.crt'), token: () => read('worker.token') })
}
