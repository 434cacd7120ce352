import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dialHost } from '../support/hosts/dialled-host.ts'
import { ApiServer } from '../support/kubernetes/api-server.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { until } from '../support/until.ts'

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJiZXJ0aCJ9.c2lnbmF0dXJl'
const stack = new AsyncDisposableStack()
let api: ApiServer
let service: TestService
beforeAll(async () => {
  api = stack.use(await ApiServer.start())
  const directory = await mkdtemp(join(tmpdir(), 'berth-cluster-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  await writeFile(join(directory, 'token'), 'worker-token\n')
  await writeFile(join(directory, 'ca.crt'), api.ca)
  service = stack.use(
    await startTestService({
      variables: {
        BERTH_COMPUTE: 'remote',
        BERTH_HOSTS_PORT: '0',
        BERTH_KUBERNETES_API: api.url,
        BERTH_KUBERNETES_TOKEN_FILE: join(directory, 'token'),
        BERTH_KUBERNETES_CA_FILE: join(directory, 'ca.crt'),
        BERTH_KUBERNETES_IMAGE: 'registry.test/agent:1',
        BERTH_KUBERNETES_HOST_IMAGE: 'registry.test/berth:1',
        BERTH_KUBERNETES_HOSTS_URL: 'http://127.0.0.1:4101',
        BERTH_KUBERNETES_IDLE: '3',
        BERTH_KUBERNETES_POOL: 'cluster',
      },
    }),
  )
})
afterAll(() => stack.disposeAsync())

it('makes pods, and takes those that dial as hosts', async () => {
  const pod = await until('three pods', () => api.pods.size === 3 && [...api.pods.values()][0])
  const { name, uid, namespace, labels } = pod.metadata
  expect([namespace, labels['berth.dev/instance']]).toEqual(['berth-sandboxes', 'berth'])
  api.setStatus(name, { phase: 'Running' })
  api.reviews.set(TOKEN, {
    authenticated: true,
    audiences: ['berth'],
    user: {
      username: 'system:serviceaccount:berth-sandboxes:berth-sandbox',
      extra: { 'authentication.kubernetes.io/pod-name': [name], 'authentication.kubernetes.io/pod-uid': [uid] },
    },
  })
  const host = await dialHost(service.service.hostsPort ?? 0, TOKEN)
  const row = await until('it is announced', async () => {
    const { rows } = await service.db.database.query<{ pool: string; capacity: number; connected: boolean }>({
      text: 'select pool, capacity, connected_to is not null as connected from hosts where id = $1',
      values: [uid],
    })
    return host.asked.includes('facts') && rows[0]
  })
  expect(row).toEqual({ pool: 'cluster', capacity: 1, connected: true })
  expect(api.pods.size).toBe(3)
  host.line.destroy()
})
