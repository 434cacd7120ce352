import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../packages/server/src/settings/settings.ts'
import { manifests } from './kubernetes/manifests.ts'
import { checkedValues } from './kubernetes/values.ts'

const root = join(import.meta.dirname, '..')
const example = join(root, 'deploy/kubernetes/values.json')
const given = JSON.parse(readFileSync(example, 'utf8'))

/** What these tests look at of an object. */
interface Found {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> }
  readonly rules?: readonly { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] }[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly name: string; readonly namespace: string }[]
  readonly spec: {
    readonly selector: Record<string, string> & { readonly matchLabels: Record<string, string> }
    readonly ports: readonly { readonly targetPort: string }[]
    readonly replicas: number
    readonly template: {
      readonly metadata: { readonly labels: Record<string, string> }
      readonly spec: {
        readonly serviceAccountName: string
        readonly automountServiceAccountToken: boolean
        readonly containers: readonly {
          readonly env: readonly { readonly name: string; readonly value?: string }[]
          readonly ports: readonly { readonly name: string }[]
        }[]
      }
    }
  } & Record<string, unknown>
}
const all = (changes: object = {}) => manifests(checkedValues({ ...given, ...changes })) as readonly Found[]
const of = (kind: string, objects = all()) => objects.filter(one => one.kind === kind)
const variablesOf = (object: Found) =>
  Object.fromEntries(object.spec.template.spec.containers.flatMap(({ env }) => env.map(one => [one.name, one.value])))

describe('the manifests of a deployment', () => {
  test('come as one list from the example, and each object once', () => {
    const printed = execFileSync(process.execPath, [join(root, 'script/kubernetes/manifests.ts'), example], {
      encoding: 'utf8',
    })
    const list = JSON.parse(printed) as { readonly kind: string; readonly items: readonly Found[] }
    expect(list.kind).toBe('List')
    expect(list.items).toEqual(all())
    const names = list.items.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
  })

  test('give each process settings that a start takes, and the same database, blobs and key', () => {
    expect(of('Deployment').map(one => one.metadata.name)).toEqual(
      ['api', 'account', 'gateway', 'worker'].map(role => `berth-${role}`),
    )
    for (const one of of('Deployment')) {
      const secrets = {
        DATABASE_URL: 'postgresql://db/berth',
        BERTH_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      }
      const variables: Record<string, string | undefined> = {
        ...variablesOf(one),
        ...secrets,
        KUBERNETES_SERVICE_HOST: '10.0.0.1',
      }
      // The cluster puts the pod's address there.
      const relay = variables['BERTH_RELAY_URL']?.replace('$(POD_IP)', '10.0.0.2')
      const own = relay === undefined ? variables : { ...variables, BERTH_RELAY_URL: relay }
      expect(() => loadSettings(own, () => undefined), one.metadata.name).not.toThrow()
    }
  })

  test('select what is there: services their processes, bindings their roles and accounts', () => {
    for (const { spec, metadata } of of('Service')) {
      const found = of('Deployment').filter(one => isWithin(spec.selector, one.spec.template.metadata.labels))
      expect(found, metadata.name).toHaveLength(1)
      const ports = found.flatMap(one => one.spec.template.spec.containers.flatMap(container => container.ports))
      for (const { targetPort } of spec.ports) expect(ports.map(({ name }) => name)).toContain(targetPort)
    }
    const accounts = of('ServiceAccount').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    for (const { spec, metadata } of of('Deployment')) {
      expect(isWithin(spec.selector.matchLabels, spec.template.metadata.labels)).toBe(true)
      expect(accounts).toContain(`${metadata.namespace}/${spec.template.spec.serviceAccountName}`)
    }
    for (const { roleRef, subjects = [] } of [...of('RoleBinding'), ...of('ClusterRoleBinding')]) {
      expect(of(roleRef?.kind ?? '').map(({ metadata }) => metadata.name)).toContain(roleRef?.name)
      for (const { name, namespace } of subjects) expect(accounts).toContain(`${namespace}/${name}`)
    }
  })

  test('give workers the rights that docs/hosts-kubernetes.md names, and a token to nobody else', () => {
    expect(of('Role').flatMap(({ rules }) => rules)).toEqual([
      { apiGroups: [''], resources: ['pods'], verbs: ['create', 'get', 'list', 'watch', 'delete'] },
    ])
    expect(of('ClusterRole').flatMap(({ rules }) => rules)).toEqual([
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    ])
    const holding = of('Deployment').filter(one => one.spec.template.spec.automountServiceAccountToken)
    expect(holding.map(({ metadata }) => metadata.name)).toEqual(['berth-worker'])
  })

  test('close the sandboxes in: a restricted namespace, and one way out', () => {
    const sandboxes = of('Namespace').find(({ metadata }) => metadata.name === 'berth-sandboxes')
    expect(sandboxes?.metadata.labels).toEqual({ 'pod-security.kubernetes.io/enforce': 'restricted' })
    const [policy, ...others] = of('NetworkPolicy')
    expect(others).toEqual([])
    expect(policy?.metadata.namespace).toBe('berth-sandboxes')
    const worker = of('Deployment').find(({ metadata }) => metadata.name === 'berth-worker')
    expect(policy?.spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [
        {
          to: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'berth' } },
              podSelector: { matchLabels: worker?.spec.template.metadata.labels },
            },
          ],
          ports: [{ protocol: 'TCP', port: 4101 }],
        },
      ],
    })
  })

  test.each([
    [{ namespace: 'Berth' }, /namespace is not a name/],
    [{ sandboxNamespace: 'berth' }, /must be another than namespace/],
    [{ image: '' }, /image must be a text/],
    [{ settings: {} }, /BERTH_AUTH_URL must be a text/],
    [{ replicas: { api: 1 } }, /account must be a whole number/],
    [{ pods: { idle: 1, most: 2 } }, /runtimeClass/],
  ])('refuse %j with a word about the field', (changes, words) => {
    expect(() => all(changes)).toThrow(words)
  })
})

const isWithin = (some: Record<string, string>, labels: Record<string, string>) =>
  Object.entries(some).every(([name, value]) => labels[name] === value)
