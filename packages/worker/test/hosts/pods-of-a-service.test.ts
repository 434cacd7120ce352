import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findCgroups } from '@berth/sandboxes/linux/cgroups.ts'
import { layOutImage, PlayedPod } from '@berth/sandboxes/testing/played-pod.ts'
import { dialHost } from '@berth/testing/hosts/dialled-host.ts'
import { ApiServer, type StoredPod } from '@berth/testing/kubernetes/api-server.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import type { TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJiZXJ0aCJ9.c2lnbmF0dXJl'
const stack = new AsyncDisposableStack()
let api: ApiServer
let gateway: GatewayService
let service: TestService
beforeAll(async () => {
  api = stack.use(await ApiServer.start())
  const directory = await mkdtemp(join(tmpdir(), 'berth-cluster-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  await writeFile(join(directory, 'token'), 'worker-token\n')
  await writeFile(join(directory, 'ca.crt'), api.ca)
  gateway = stack.use(
    await startGatewayService({
      models: { default: 'main/m1' },
      variables: {
        BERTH_ROLES: 'api,gateway,worker',
        BERTH_COMPUTE: 'remote',
        BERTH_HOSTS_PORT: '0',
        BERTH_KUBERNETES_IMAGE: 'registry.test/agent:1',
        BERTH_KUBERNETES_HOST_IMAGE: 'registry.test/berth:1',
        BERTH_KUBERNETES_HOSTS_URL: 'http://127.0.0.1:4101',
        BERTH_KUBERNETES_IDLE: '3',
        BERTH_KUBERNETES_POOL: 'cluster',
      },
      fixed: {
        kubernetesApiUrl: api.url,
        kubernetesTokenFile: join(directory, 'token'),
        kubernetesCaFile: join(directory, 'ca.crt'),
      },
    }),
  )
  service = gateway.test
})
afterAll(() => stack.disposeAsync())

/** Says that a pod runs, and whose a token is. */
function runs({ metadata: { name, uid } }: StoredPod, token: string): void {
  api.setStatus(name, { phase: 'Running' })
  api.reviews.set(token, {
    authenticated: true,
    audiences: ['berth'],
    user: {
      username: 'system:serviceaccount:berth-sandboxes:berth-sandbox',
      extra: { 'authentication.kubernetes.io/pod-name': [name], 'authentication.kubernetes.io/pod-uid': [uid] },
    },
  })
}

it('makes pods, and takes those that dial as hosts', async () => {
  const pod = await until('three pods', () => api.pods.size === 3 && [...api.pods.values()][0])
  const { uid, namespace, labels } = pod.metadata
  expect([namespace, labels['berth.dev/instance']]).toEqual(['berth-sandboxes', 'berth'])
  runs(pod, TOKEN)
  const host = await dialHost(service.service.hostsPort ?? 0, TOKEN)
  const row = await until('it is announced', async () => {
    const { rows } = await service.db.database.query<{ pool: string; capacity: number; connected: boolean }>({
      text: 'select pool, capacity, connected_to is not null as connected from hosts where id = $1',
      values: [uid],
    })
    return host.calls.includes('facts') && rows[0]
  })
  expect(row).toEqual({ pool: 'cluster', capacity: 1, connected: true })
  expect(api.pods.size).toBe(3)
  host.line.destroy()
})

/** Plays kubelet: containers with the manifest's own variables for each pod of the server. */
async function playPods(root: string, played: Map<string, PlayedPod>): Promise<void> {
  const groups = await findCgroups(`berth-kubelet-${process.pid}`)
  if (groups === undefined) throw new Error('no cgroups to play pods with')
  const bounds = { memoryBytes: 1024 ** 3, processes: 200, cpus: 2, fileSizeBytes: 1024 ** 3, diskBytes: 1024 ** 3 }
  for (const stored of [...api.pods.values()]) {
    const { name } = stored.metadata
    if (played.has(name)) continue
    const directory = join(root, name)
    await mkdir(directory)
    const pod = new PlayedPod(directory, root, groups)
    played.set(name, pod)
    const token = `${TOKEN}-${name}`
    runs(stored, token)
    await pod.make(bounds)
    const { containers } = stored.spec as {
      containers: readonly { name: string; env?: { name: string; value: string }[] }[]
    }
    const env = containers.find(one => one.name === 'host')?.env ?? []
    await pod.startHost('packages/server/dist/host.js', {
      ...Object.fromEntries(env.map(one => [one.name, one.value])),
      BERTH_HOST_URL: `http://127.0.0.1:${service.service.hostsPort}`,
      BERTH_HOST_TOKEN: token,
      // As in the image.
      NODE_ENV: 'production',
      BERTH_LOG_LEVEL: 'error',
    })
    for (const part of ['agent', 'files'] as const) await pod.start(part, bounds)
  }
}

it('runs three Sessions in pods that are played, one with a model, and each in a pod of its own', async ({ skip }) => {
  skip(process.getuid?.() !== 0, 'only root can play users')
  const root = await mkdtemp(join(tmpdir(), 'berth-kubelet-'))
  await chmod(root, 0o755)
  await layOutImage(root)
  const played = new Map<string, PlayedPod>()
  stack.defer(async () => {
    for (const pod of played.values()) await pod.remove()
    await (await findCgroups(`berth-kubelet-${process.pid}`))?.tidy()
    await rm(root, { recursive: true, force: true })
  })
  await playPods(root, played)
  const outputOf = async (sessionId: string, runId: string | null | undefined) => {
    const events = await service.api.runEnded(sessionId, runId ?? '')
    const activity = events.findLast(event => event.type === 'svc.activity.completed')
    return (activity?.data as { output?: string } | undefined)?.output
  }
  const shells = await Promise.all(
    ['one', 'two'].map(name => service.api.createSession({ runtime: 'shell' }, `echo ${name} > note; cat note; id -u`)),
  )
  for (const [at, { id, activeRunId }] of shells.entries()) {
    expect(await outputOf(id, activeRunId)).toBe(`${['one', 'two'][at]}\n10002\n`)
  }
  gateway.upstream.next(
    says({ calls: [{ name: 'bash', args: { command: 'echo from a pod' } }] }),
    says({ text: 'Done.' }),
  )
  const native = await service.api.createSession({ runtime: 'native' }, 'Look.')
  expect(await outputOf(native.id, native.activeRunId)).toContain('from a pod')
  const ids = [...shells, native].map(({ id }) => id)
  for (const id of ids) {
    await until('it is sealed', async () => (await service.api.session(id)).phase === 'idle')
  }
  const { rows } = await service.db.database.query<{ host: string; driver: string }>({
    text: 'select host, driver from leases where session_id = any($1)',
    values: [ids],
  })
  expect(new Set(rows.map(({ host }) => host)).size).toBe(3)
  const uids = [...api.pods.values()].map(({ metadata }) => metadata.uid)
  for (const { host } of rows) expect(uids).toContain(host)
})
