import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listPodHosts } from '../../src/hosts/pod-host-sql.ts'
import { ClusterApi } from '../../src/kubernetes/api/cluster-api.ts'
import { Pods } from '../../src/kubernetes/api/pods.ts'
import { Sandboxes } from '../../src/kubernetes/api/sandboxes.ts'
import { INSTANCE_LABEL } from '../../src/kubernetes/pods/pod-manifest.ts'
import { Api } from '../support/api/api.ts'
import { realCluster, workerVariables } from '../support/kubernetes/real-cluster.ts'
import { SandboxController } from '../support/kubernetes/sandbox-controller.ts'
import { serveSandboxes } from '../support/kubernetes/sandbox-definition.ts'
import { says } from '../support/models/scripted-upstream.ts'
import { type GatewayService, startGatewayService } from '../support/services/gateway-service.ts'
import { variablesBeside } from '../support/services/service.ts'
import { startServiceProcess } from '../support/services/service-process.ts'
import { until } from '../support/until.ts'

const NAMESPACE = 'berth-sandboxes'
const PATIENCE_MS = 300_000
const instanceOf = (port: number) => `at-${port}`
const never = new AbortController().signal
const stack = new AsyncDisposableStack()
let admin: ClusterApi
let one: GatewayService
let two: GatewayService

/**
 * Starts a service whose pods dial a port of its own. Databases of tests are copies and share their identity, so the services
 * differ by the instance.
 */
const startService = async (port: number): Promise<GatewayService> =>
  await startGatewayService({
    models: { default: 'main/m1' },
    variables: {
      BERTH_ROLES: 'api,gateway,worker',
      ...workerVariables(realCluster()),
      BERTH_KUBERNETES_IDLE: '1',
      BERTH_KUBERNETES_SANDBOXES: 'on',
      BERTH_KUBERNETES_INSTANCE: instanceOf(port),
      BERTH_HOSTS_PORT: String(port),
      BERTH_KUBERNETES_HOSTS_URL: `http://berth-hosts.berth.svc:${port}`,
    },
  })

beforeAll(async () => {
  const { api, directory } = realCluster()
  const read = (name: string) => readFileSync(join(directory, name), 'utf8')
  admin = stack.use(new ClusterApi({ url: api, ca: read('api.crt'), token: () => read('token') }))
  stack.use(await serveSandboxes(admin))
  stack.use(SandboxController.start(admin, NAMESPACE))
  one = stack.use(await startService(4101))
  two = stack.use(await startService(4103))
})
afterAll(() => stack.disposeAsync())

const nameOf = (service: GatewayService) => instanceOf(service === one ? 4101 : 4103)
/** The objects of a service in the cluster. */
const of = async (service: GatewayService) => {
  const selector = `${INSTANCE_LABEL}=${nameOf(service)}`
  const scope = { namespace: NAMESPACE, selector }
  const [sandboxes, pods] = [new Sandboxes(admin, scope), new Pods(admin, scope)]
  return {
    pods,
    sandboxes: async () => (await sandboxes.list(never)).items,
    all: async () => (await pods.list(never)).items,
  }
}
const waiting = async (service: GatewayService) =>
  (await listPodHosts(service.test.db.database, `${nameOf(service)}/${NAMESPACE}`)).filter(
    host => host.isConnected && host.cordonedAt === null && host.leases === 0,
  )
/** Waits until the only pods of a service are one that waits and those of its Sessions. */
const atRest = (service: GatewayService, leased: number) =>
  until(
    `one pod waits beside ${leased}`,
    async () => {
      const all = await (await of(service)).sandboxes()
      return (await waiting(service)).length === 1 && all.length === leased + 1 && all
    },
    PATIENCE_MS,
    200,
  )
const hostOf = async ({ test }: GatewayService, sessionId: string) => {
  const { rows } = await test.db.database.query<{ host: string }>({
    text: 'select host from leases where session_id = $1 order by created_at desc limit 1',
    values: [sessionId],
  })
  return rows[0]?.host
}
const outputOf = async ({ test }: GatewayService, sessionId: string, runId: string | null | undefined) => {
  const events = await test.api.runEnded(sessionId, runId ?? '')
  const activity = events.findLast(event => event.type === 'svc.activity.completed')
  return (activity?.data as { output?: string } | undefined)?.output
}
const sealed = ({ test }: GatewayService, id: string) =>
  until('it is sealed', async () => (await test.api.session(id)).phase === 'idle')

it('runs three Sessions in Sandboxes, and ends those of Sessions that are archived', async () => {
  const ids: string[] = []
  for (const name of ['one', 'two']) {
    const { id, activeRunId } = await one.test.api.createSession({ runtime: 'shell' }, `echo ${name} > note; cat note`)
    expect(await outputOf(one, id, activeRunId)).toBe(`${name}\n`)
    ids.push(id)
  }
  one.upstream.next(
    says({ calls: [{ name: 'bash', args: { command: 'echo from a Sandbox' } }] }),
    says({ text: 'Done.' }),
  )
  const native = await one.test.api.createSession({ runtime: 'native' }, 'Look.')
  expect(await outputOf(one, native.id, native.activeRunId)).toContain('from a Sandbox')
  ids.push(native.id)
  for (const id of ids) await sealed(one, id)
  const sandboxes = await atRest(one, 3)
  const pods = await (await of(one)).all()
  for (const id of ids) {
    const host = await hostOf(one, id)
    const pod = pods.find(({ uid }) => uid === host)
    expect(sandboxes.map(({ uid }) => uid)).toContain(pod?.sandbox?.uid)
    expect(pod?.labels).toMatchObject({ 'app.kubernetes.io/component': 'sandbox' })
  }
  const [first = '', ...others] = ids
  const host = await hostOf(one, first)
  const gone = pods.find(({ uid }) => uid === host)
  expect((await one.test.api.call('DELETE', `/v1/sessions/${first}`)).status).toBe(204)
  await atRest(one, 2)
  for (const id of others) expect((await one.test.api.call('DELETE', `/v1/sessions/${id}`)).status).toBe(204)
  const left = await atRest(one, 0)
  expect(left.map(({ name }) => name)).not.toContain(gone?.name)
})

it('loses the lease of a pod that is deleted, and takes no second pod of its Sandbox', async () => {
  const { api } = one.test
  const { id, activeRunId } = await api.createSession({ runtime: 'shell' }, 'echo kept > note')
  await api.runEnded(id, activeRunId ?? '')
  await sealed(one, id)
  const [lost, seen] = [await hostOf(one, id), await of(one)]
  const pod = (await seen.all()).find(({ uid }) => uid === lost)
  if (pod === undefined) throw new Error('the Session has no pod')
  await seen.pods.delete(pod, never)
  await until(
    'its Sandbox is gone',
    async () => !(await seen.sandboxes()).some(({ uid }) => uid === pod.sandbox?.uid),
    PATIENCE_MS,
    200,
  )
  const { run } = await api.submitTurn(id, 'cat note')
  expect(await outputOf(one, id, run.id)).toBe('kept\n')
  const next = await hostOf(one, id)
  expect(next).not.toBe(lost)
  expect((await seen.all()).find(({ uid }) => uid === next)?.name).not.toBe(pod.name)
  await api.call('DELETE', `/v1/sessions/${id}`)
  await atRest(one, 0)
})

it('goes on with its Sandboxes after a restart, and leaves those of another service alone', async () => {
  const mine = await two.test.api.createSession({ runtime: 'shell' }, 'echo two > note')
  await two.test.api.runEnded(mine.id, mine.activeRunId ?? '')
  await sealed(two, mine.id)
  const [others, before] = [await atRest(one, 0), await atRest(two, 1)]
  const host = await hostOf(two, mine.id)
  await two.test.service[Symbol.asyncDispose]()
  await using again = await startServiceProcess({
    ...{ BERTH_ROLES: 'api,gateway,worker', BERTH_DATA_DIR: two.test.dataDir },
    ...workerVariables(realCluster()),
    ...{ BERTH_KUBERNETES_IDLE: '1', BERTH_KUBERNETES_SANDBOXES: 'on', BERTH_HOSTS_PORT: '4103' },
    BERTH_KUBERNETES_INSTANCE: instanceOf(4103),
    BERTH_KUBERNETES_HOSTS_URL: 'http://berth-hosts.berth.svc:4103',
    ...variablesBeside(two.test),
  })
  const uids = (all: readonly { readonly uid: string }[]) => all.map(({ uid }) => uid).toSorted()
  expect(uids(await atRest(two, 1))).toEqual(uids(before))
  const api = new Api(again.url.replace('0.0.0.0', '127.0.0.1'), two.test.tenant.apiKey)
  const { run } = await api.submitTurn(mine.id, 'cat note')
  const activity = (await api.runEnded(mine.id, run.id)).findLast(({ type }) => type === 'svc.activity.completed')
  expect(activity?.data).toMatchObject({ output: 'two\n' })
  expect(await hostOf(two, mine.id)).toBe(host)
  expect(uids(await atRest(one, 0))).toEqual(uids(others))
})
