import { describe, expect, test } from 'vitest'
import { podTemplate } from '../packages/kubernetes/src/pods/pod-manifest.ts'
import { loadSettings } from '../packages/platform/src/settings/settings.ts'
import { podSettings } from '../packages/testing/src/kubernetes/pod-settings.ts'
import { chart, helm, leastValues, type ManifestObject, noHelm, renderChart } from './lib/helm.ts'
import { schemaFaults } from './testing/kubernetes-schemas.ts'

/** What these tests look at of an object. */
interface Found extends ManifestObject {
  readonly metadata: ManifestObject['metadata'] & { readonly labels?: Record<string, string> }
  readonly rules?: readonly { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] }[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly name: string; readonly namespace: string }[]
  readonly spec: {
    readonly selector: Record<string, string> & { readonly matchLabels: Record<string, string> }
    readonly ports: readonly { readonly targetPort: string }[]
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
    readonly rules?: readonly { readonly host: string }[]
  } & Record<string, unknown>
}

/** Values that turn everything on, and leave nothing as it is. */
const everything = {
  ...leastValues,
  image: { repository: 'registry.example.com/other', tag: '7', pullPolicy: 'Always' },
  imagePullSecrets: ['registry'],
  previewDomain: 'previews.example.net',
  database: { secret: { name: 'db', key: 'url' }, directSecret: { name: 'db', key: 'direct' }, connections: 10 },
  masterKey: { secret: { name: 'keys', key: 'master' } },
  blobs: {
    bucket: 'other-blobs',
    prefix: 'production',
    region: 'r1',
    endpoint: 'https://s3.example.com',
    secret: 's3',
  },
  settings: { BERTH_LOG_LEVEL: 'warn', BERTH_RATE_PER_MINUTE: 500 },
  settingsSecrets: ['more'],
  api: { replicas: 4, nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'a', operator: 'Exists' }] },
  worker: { replicas: 8, concurrency: 50, disk: '100Gi', affinity: { podAntiAffinity: {} } },
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/berth' } },
  ingress: { enabled: true, className: 'nginx', annotations: { a: 'b' }, tlsSecret: 'certificate' },
  sandboxes: {
    image: { repository: 'registry.example.com/tools', tag: '9' },
    imagePullSecrets: ['one', 'two'],
    namespace: 'agents',
    pool: 'gpu',
    idle: 5,
    most: 50,
    runtimeClass: 'gvisor',
    nodeSelector: { 'example.com/for': 'sandboxes', zone: 'a' },
    memoryBytes: 8589934592,
    cpus: 1.5,
    diskBytes: 21474836480,
  },
}
const render = (values: object = leastValues) => renderChart(values) as readonly Found[]
const of = (kind: string, objects: readonly Found[]) => objects.filter(one => one.kind === kind)
const envOf = (object: Found) => object.spec.template.spec.containers.flatMap(({ env }) => env)
const variablesOf = (objects: readonly Found[], component: string) => {
  const found = of('Deployment', objects).find(({ metadata }) => metadata.name === `berth-${component}`)
  return Object.fromEntries((found === undefined ? [] : envOf(found)).map(({ name, value }) => [name, value]))
}
const idOf = ({ kind, metadata }: Found) => `${kind} ${metadata.namespace}/${metadata.name}`

describe.skipIf(noHelm !== undefined)('the chart of deploy/kubernetes', () => {
  test('passes the strict lint of Helm, bare and with everything turned on', () => {
    for (const values of [leastValues, everything]) {
      expect(helm(['lint', '--strict', '--quiet', chart], values)).not.toMatch(/WARNING|ERROR/)
    }
  })

  test('makes objects that the schemas of Kubernetes know, as are the pods that hold sandboxes', async () => {
    const owner = { deployment: 'd1', instance: 'one' }
    const settings = podSettings({ runtimeClass: 'gvisor', nodeSelector: { zone: 'a' } })
    const pod = podTemplate(owner, settings).manifest('10.0.0.1') as Found
    for (const objects of [render(), render(everything), [pod]]) {
      expect(new Set(objects.map(idOf)).size).toBe(objects.length)
      for (const object of objects) expect(await schemaFaults(object), idOf(object)).toEqual([])
    }
    const [first] = of('Deployment', render())
    const broken = structuredClone(first) as unknown as { spec: { replicas: unknown; template: { spec: object } } }
    broken.spec.replicas = 'two'
    Object.assign(broken.spec.template.spec, { runtimeClas: 'gvisor' })
    expect(await schemaFaults(broken as unknown as Found)).toEqual([
      '/spec/replicas type {"type":"integer"}',
      '/spec/template/spec/runtimeClas is not known',
    ])
  })

  test('gives each process settings that a start takes, and the same database, blobs and key', () => {
    for (const objects of [render(), render(everything)]) {
      const deployments = of('Deployment', objects)
      expect(deployments.map(one => one.metadata.name)).toEqual(['berth-api', 'berth-gateway', 'berth-worker'])
      for (const one of deployments) {
        const variables: Record<string, string | undefined> = Object.fromEntries(
          envOf(one).map(({ name, value }) => [name, value?.replace('$(POD_IP)', '10.0.0.2')]),
        )
        // Their values come from secrets.
        for (const name of ['DATABASE_URL', 'BERTH_DATABASE_DIRECT_URL']) {
          if (name in variables) variables[name] = 'postgresql://db/berth'
        }
        variables['BERTH_MASTER_KEY'] = Buffer.alloc(32, 1).toString('base64')
        for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) if (name in variables) variables[name] = 'k'
        variables['KUBERNETES_SERVICE_HOST'] = '10.0.0.1'
        expect(() => loadSettings(variables, () => undefined), one.metadata.name).not.toThrow()
        expect(variables['BERTH_BLOBS']).toMatch(/^s3:\/\//)
      }
    }
  })

  test('hands the values of sandboxes to the workers that make them', () => {
    expect(variablesOf(render(everything), 'worker')).toMatchObject({
      BERTH_KUBERNETES_IMAGE: 'registry.example.com/tools:9',
      BERTH_KUBERNETES_HOST_IMAGE: 'registry.example.com/other:7',
      BERTH_KUBERNETES_HOSTS_URL: 'http://berth-hosts.berth.svc:4101',
      BERTH_KUBERNETES_NAMESPACE: 'agents',
      BERTH_KUBERNETES_INSTANCE: 'berth',
      BERTH_KUBERNETES_POOL: 'gpu',
      BERTH_KUBERNETES_IDLE: '5',
      BERTH_KUBERNETES_MOST: '50',
      BERTH_KUBERNETES_RUNTIME_CLASS: 'gvisor',
      BERTH_KUBERNETES_NODE_SELECTOR: 'example.com/for=sandboxes,zone=a',
      BERTH_SANDBOX_MEMORY_BYTES: '8589934592',
      BERTH_SANDBOX_CPUS: '1.5',
      BERTH_SANDBOX_DISK_BYTES: '21474836480',
      BERTH_WORKER_CONCURRENCY: '50',
      BERTH_LOG_LEVEL: 'warn',
    })
    expect(variablesOf(render(everything), 'api')).not.toHaveProperty('BERTH_KUBERNETES_IMAGE')
    // A worker makes pods of this service account, which brings the secrets.
    const account = of('ServiceAccount', render(everything)).find(({ metadata }) => metadata.name === 'berth-sandbox')
    expect(account).toMatchObject({ imagePullSecrets: [{ name: 'one' }, { name: 'two' }] })
  })

  test('selects objects that are there: services their processes, bindings their roles and accounts', () => {
    const objects = render()
    for (const { spec, metadata } of of('Service', objects)) {
      const found = of('Deployment', objects).filter(one => isWithin(spec.selector, one.spec.template.metadata.labels))
      expect(found, metadata.name).toHaveLength(1)
      const ports = found.flatMap(one => one.spec.template.spec.containers.flatMap(container => container.ports))
      for (const { targetPort } of spec.ports) expect(ports.map(({ name }) => name)).toContain(targetPort)
    }
    const accounts = of('ServiceAccount', objects).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    for (const { spec, metadata } of of('Deployment', objects)) {
      expect(isWithin(spec.selector.matchLabels, spec.template.metadata.labels)).toBe(true)
      expect(accounts).toContain(`${metadata.namespace}/${spec.template.spec.serviceAccountName}`)
      const budgets = of('PodDisruptionBudget', objects).filter(one =>
        isWithin(one.spec.selector.matchLabels, spec.template.metadata.labels),
      )
      expect(budgets, metadata.name).toHaveLength(1)
    }
    for (const { roleRef, subjects = [] } of [...of('RoleBinding', objects), ...of('ClusterRoleBinding', objects)]) {
      expect(of(roleRef?.kind ?? '', objects).map(({ metadata }) => metadata.name)).toContain(roleRef?.name)
      for (const { name, namespace } of subjects) expect(accounts).toContain(`${namespace}/${name}`)
    }
  })

  test('gives workers the rights that docs/hosts-kubernetes.md names, and a token to nobody else', () => {
    const objects = render()
    const pods = { apiGroups: [''], resources: ['pods'], verbs: ['create', 'get', 'list', 'watch', 'delete'] }
    expect(of('Role', objects).flatMap(({ rules }) => rules)).toEqual([pods])
    expect(of('ClusterRole', objects).flatMap(({ rules }) => rules)).toEqual([
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    ])
    const holding = of('Deployment', objects).filter(one => one.spec.template.spec.automountServiceAccountToken)
    expect(holding.map(({ metadata }) => metadata.name)).toEqual(['berth-worker'])
  })

  test('closes the sandboxes in: a restricted namespace, and one way out', () => {
    const objects = render()
    const sandboxes = of('Namespace', objects).find(({ metadata }) => metadata.name === 'berth-sandboxes')
    expect(sandboxes?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' })
    const [policy, ...others] = of('NetworkPolicy', objects)
    expect(others).toEqual([])
    expect(policy?.metadata.namespace).toBe('berth-sandboxes')
    const worker = of('Deployment', objects).find(({ metadata }) => metadata.name === 'berth-worker')
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

  test('keeps two releases on one cluster apart, and leaves out what is turned off', () => {
    const [one, two] = [renderChart(leastValues, 'berth', 'a'), renderChart(leastValues, 'berth', 'b')]
    const clusterWide = (objects: readonly ManifestObject[]) =>
      objects.filter(({ kind }) => kind.startsWith('ClusterRole')).map(({ metadata }) => metadata.name)
    expect(clusterWide(one)).not.toEqual(clusterWide(two))
    const off = { create: false, enabled: false }
    const bare = render({
      ...leastValues,
      ...{ rbac: { create: false }, serviceAccount: { create: false }, podDisruptionBudget: { enabled: false } },
      sandboxes: { createNamespace: off.create, networkPolicy: { enabled: off.enabled } },
    })
    expect([...new Set(bare.map(({ kind }) => kind))].toSorted()).toEqual(['Deployment', 'Service'])
    const hosts = of('Ingress', render(everything)).flatMap(({ spec }) => spec.rules?.map(({ host }) => host))
    expect(hosts).toEqual(['berth.example.com', '*.previews.example.net'])
  })

  test.each([
    [{}, /url is required/],
    [{ url: leastValues.url }, /blobs.bucket is required/],
    [{ url: leastValues.url, blobs: { bucket: 'blobs' } }, /blobs.region is required/],
    [{ ...leastValues, sandboxes: { namespace: 'berth' } }, /must be another than the release's/],
    [{ ...leastValues, sandboxes: { idel: 3 } }, /additional properties 'idel' not allowed/],
    [{ ...leastValues, sandboxes: { podSecurity: 'open' } }, /podSecurity/],
    [{ ...leastValues, url: 'berth.example.com' }, /url/],
    [{ ...leastValues, worker: { replicas: '2' } }, /replicas/],
    [{ ...leastValues, settings: { BERTH_MASTER_KEY: 'a' } }, /BERTH_MASTER_KEY/],
  ])('refuses %j with a word about the value', (values, message) => {
    expect(() => render(values)).toThrow(message)
  })
})

const isWithin = (some: Record<string, string>, labels: Record<string, string>) =>
  Object.entries(some).every(([name, value]) => labels[name] === value)
