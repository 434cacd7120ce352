/**
 * Prints the manifests of a deployment as one list, for `kubectl apply -f -`.
 *
 *   node script/kubernetes/manifests.ts deploy/kubernetes/values.json
 */
import { deployment, labelsOf, ports } from './processes.ts'
import { readValues, type Values } from './values.ts'

/** Returns every object of a deployment, those first that others need. */
export function manifests(values: Values): readonly object[] {
  const { namespace, sandboxNamespace } = values
  return [
    // Workers confine their helper programs by namespaces, which neither `restricted` nor `baseline` allows.
    namespaceOf(namespace, 'privileged'),
    namespaceOf(sandboxNamespace, 'restricted'),
    ...['berth', 'berth-worker'].map(name => serviceAccount(name, namespace)),
    serviceAccount('berth-sandbox', sandboxNamespace),
    ...rights(namespace, sandboxNamespace),
    ...networkPolicies(namespace, sandboxNamespace),
    service('berth-api', namespace, labelsOf('api'), 'http'),
    service('berth-account', namespace, labelsOf('account'), 'http'),
    service('berth-gateway', namespace, labelsOf('gateway'), 'http'),
    service('berth-hosts', namespace, labelsOf('worker'), 'hosts'),
    ...(['api', 'account', 'gateway', 'worker'] as const).map(role => deployment(role, values)),
  ]
}

function namespaceOf(name: string, level: 'privileged' | 'restricted'): object {
  const labels = { 'pod-security.kubernetes.io/enforce': level }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
}

const serviceAccount = (name: string, namespace: string): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
  automountServiceAccountToken: false,
})

/** What the workers may do: make and watch pods of sandboxes, and have their tokens judged. */
function rights(namespace: string, sandboxNamespace: string): readonly object[] {
  const subjects = [{ kind: 'ServiceAccount', name: 'berth-worker', namespace }]
  const [pods, judge] = ['berth-provisioner', `berth-judge-${namespace}`]
  const apiGroup = 'rbac.authorization.k8s.io'
  const apiVersion = `${apiGroup}/v1`
  return [
    {
      apiVersion,
      kind: 'Role',
      metadata: { name: pods, namespace: sandboxNamespace },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['create', 'get', 'list', 'watch', 'delete'] }],
    },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata: { name: pods, namespace: sandboxNamespace },
      roleRef: { apiGroup, kind: 'Role', name: pods },
      subjects,
    },
    {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name: judge },
      rules: [{ apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] }],
    },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name: judge },
      roleRef: { apiGroup, kind: 'ClusterRole', name: judge },
      subjects,
    },
  ]
}

/** Pods of sandboxes are reached by nobody, and reach the hosts' endpoint alone: no name server either. */
function networkPolicies(namespace: string, sandboxNamespace: string): readonly object[] {
  const workers = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    podSelector: { matchLabels: labelsOf('worker') },
  }
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'berth-sandboxes', namespace: sandboxNamespace },
      spec: {
        podSelector: {},
        policyTypes: ['Ingress', 'Egress'],
        ingress: [],
        egress: [{ to: [workers], ports: [{ protocol: 'TCP', port: ports.hosts }] }],
      },
    },
  ]
}

const service = (name: string, namespace: string, selector: object, port: 'http' | 'hosts'): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { selector, ports: [{ name: port, port: ports[port], targetPort: port }] },
})

if (import.meta.main) {
  const [, , path] = process.argv
  if (path === undefined) {
    console.error('usage: node script/kubernetes/manifests.ts values.json')
    process.exit(2)
  }
  try {
    const items = manifests(readValues(path))
    process.stdout.write(`${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2)}\n`)
  } catch (error) {
    console.error(`${path}: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  }
}
