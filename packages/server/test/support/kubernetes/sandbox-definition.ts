import type { ClusterApi } from '../../../src/kubernetes/api/cluster-api.ts'
import { ClusterError } from '../../../src/kubernetes/api/cluster-error.ts'
import { SANDBOX_GROUP, SANDBOX_VERSION } from '../../../src/kubernetes/api/observe-sandbox.ts'
import { SANDBOX_ROOT } from '../../../src/kubernetes/api/sandboxes.ts'
import { until } from '../until.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const NAME = `sandboxes.${SANDBOX_GROUP}`

/**
 * A definition of Sandboxes for Kubernetes 1.20, which refuses the published one: there the schema of pods has defaults that 1.20
 * takes for none. This one has no schema.
 */
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: NAME,
    // The API server asks for it in groups of this domain.
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/agent-sandbox' },
  },
  spec: {
    group: SANDBOX_GROUP,
    scope: 'Namespaced',
    names: { kind: 'Sandbox', listKind: 'SandboxList', plural: 'sandboxes', singular: 'sandbox' },
    versions: [
      {
        ...{ name: SANDBOX_VERSION, served: true, storage: true, subresources: { status: {} } },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

/** Has a cluster serve Sandboxes until it is disposed of, which deletes them all. */
export async function serveSandboxes(api: ClusterApi): Promise<AsyncDisposable> {
  await api.ask({ method: 'POST', path: DEFINITIONS, body: definition })
  await until('Sandboxes are served', async () => (await isServed(api)) || undefined)
  return {
    async [Symbol.asyncDispose]() {
      await api.ask({ method: 'DELETE', path: `${DEFINITIONS}/${NAME}` })
      await until('Sandboxes are gone', async () => !(await isServed(api)) || undefined)
    },
  }
}

async function isServed(api: ClusterApi): Promise<boolean> {
  try {
    await api.ask({ method: 'GET', path: SANDBOX_ROOT })
    await api.ask({ method: 'GET', path: `${SANDBOX_ROOT}/sandboxes` })
    return true
  } catch (error) {
    if (error instanceof ClusterError && error.status === 404) return false
    throw error
  }
}
