import { randomUUID } from 'node:crypto'
import { ApiServer } from '@berth/testing/kubernetes/api-server.ts'
import {
  type ProvisionerChanges,
  type StartedProvisioner,
  startProvisioner,
} from '@berth/testing/kubernetes/start-provisioner.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { INSTANCE_LABEL, selectorOf } from './pod-manifest.ts'

let db: TestDatabase
let api: ApiServer
let clean = new AsyncDisposableStack()
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db[Symbol.asyncDispose]())
beforeEach(async () => {
  api = clean.use(await ApiServer.start())
})
afterEach(async () => {
  await clean.disposeAsync()
  clean = new AsyncDisposableStack()
  await db.database.query('delete from hosts')
  await db.database.query('delete from chores')
})

async function start(changes: ProvisionerChanges = {}): Promise<StartedProvisioner> {
  return clean.use(await startProvisioner(db, api, changes))
}

const pods = () => [...api.pods.values()]
const there = (count: number) => until(`${count} pods`, () => api.pods.size === count)
const cordoned = async () => {
  const { rows } = await db.database.query<{ name: string }>('select name from hosts where cordoned_at is not null')
  return rows.map(({ name }) => name)
}

describe('the provisioner', () => {
  it('keeps pods waiting, and replaces one that is gone', async () => {
    await start()
    await there(2)
    const [first] = pods()
    api.remove(first?.metadata.name ?? '')
    await until('another', () => api.pods.size === 2 && !api.pods.has(first?.metadata.name ?? ''))
    await until('a watch', () => api.watching === 1)
    expect(api.count(/^POST .*pods$/)).toBe(3)
  })

  it('cordons the surplus before it deletes it', async () => {
    const owner = { deployment: randomUUID(), instance: 'one' }
    const before = await start({ owner })
    await there(2)
    for (const { metadata } of pods()) await before.dial(metadata.name)
    await before[Symbol.asyncDispose]()
    await start({ owner, plan: { idle: 1, graceMs: 3_600_000 } })
    await until('one is cordoned', async () => (await cordoned()).length === 1)
    expect(api.pods.size).toBe(2)
    await db.database.query(`update hosts set cordoned_at = now() - interval '2 hours' where cordoned_at is not null`)
    await there(1)
    expect(api.count(/^DELETE /)).toBe(1)
  })

  it('touches no pod of another service on the same cluster', async () => {
    const one = await start({ plan: { idle: 1 } })
    const two = await start({ owner: { deployment: randomUUID(), instance: 'two' }, plan: { idle: 3 } })
    // Another database gave itself the same instance.
    const like = { ...one.owner, deployment: randomUUID() }
    api.put({ metadata: { name: 'stranger', namespace: 'sandboxes', labels: { [INSTANCE_LABEL]: 'one' } } })
    await there(5)
    await one[Symbol.asyncDispose]()
    await start({ owner: one.owner, plan: { idle: 0 } })
    const ofOne = () => pods().filter(({ metadata }) => metadata.labels[INSTANCE_LABEL] === 'one')
    for (const { metadata } of ofOne())
      if (metadata.name !== 'stranger') api.setStatus(metadata.name, { phase: 'Succeeded' })
    await there(4)
    expect(api.pods.has('stranger')).toBe(true)
    expect(pods().filter(({ metadata }) => metadata.labels[INSTANCE_LABEL] === 'two')).toHaveLength(3)
    expect(selectorOf(like)).not.toBe(selectorOf(one.owner))
    await two[Symbol.asyncDispose]()
  })

  it('is one process at a time, and the next goes on with the same pods', async () => {
    const owner = { deployment: randomUUID(), instance: 'one' }
    const first = await start({ owner })
    await there(2)
    await start({ owner })
    await until('some rounds', () => api.count(/GET/) >= 2)
    expect(api.pods.size).toBe(2)
    await first[Symbol.asyncDispose]()
    await until('the second has listed', () => api.count(/pods$/) >= 4)
    api.remove(pods()[0]?.metadata.name ?? '')
    await there(2)
  })

  it('leaves the API server alone for as long as it asks', async () => {
    api.trouble(/^GET .*pods$/, { status: 429, retryAfter: 1 }, 1)
    const began = performance.now()
    const { metric } = await start()
    await there(2)
    expect(performance.now() - began).toBeGreaterThan(900)
    expect(await metric('berth_kubernetes_api_failures_total{status="429"}')).toBe('1')
  })

  it('goes on after errors, cuts and silence of the API server', async () => {
    api.trouble(/^POST .*pods$/, { status: 500 }, 2)
    api.trouble(/^GET .*pods$/, 'silence', 1)
    // bound: a request that is late is made again
    const { metric } = await start({ timeoutMs: 200, watchMs: 300 })
    await there(2)
    expect(await metric('berth_kubernetes_api_failures_total{status="500"}')).toBe('2')
    expect(Number(await metric('berth_kubernetes_api_failures_total{status="none"}'))).toBeGreaterThanOrEqual(1)
    api.cut()
    // The watch is silent as well; after its deadline another begins.
    const watches = api.count(/watch/)
    await until('another watch', () => api.count(/watch/) > watches)
    api.remove(pods()[0]?.metadata.name ?? '')
    await there(2)
  })

  it('lists again when its state is too old to watch from', async () => {
    const { metric } = await start()
    await there(2)
    await until('a watch', () => api.watching === 1)
    const lists = api.count(/^GET .*pods$/)
    api.compact()
    await until('another list', () => api.count(/^GET .*pods$/) > lists)
    await until('another watch', () => api.watching === 1)
    api.remove(pods()[0]?.metadata.name ?? '')
    await there(2)
    expect(await metric('berth_kubernetes_api_failures_total{status="410"}')).toBe('')
  })

  it('names a fault, counts it once, and does not create pod after pod', async () => {
    api.statusOfNew = () => ({
      phase: 'Pending',
      containerStatuses: [
        { name: 'agent', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
      ],
    })
    const { metric } = await start()
    await there(2)
    const counted = () => metric('berth_kubernetes_pod_faults_total{fault="image_missing"}')
    await until('both are counted', async () => (await counted()) === '2')
    for (const { metadata } of pods()) api.setStatus(metadata.name, api.statusOfNew())
    await until('more rounds', () => api.count(/watch/) >= 1)
    expect(await counted()).toBe('2')
    expect(api.count(/^POST .*pods$/)).toBe(2)
  })

  it('creates ever more rarely while pods fail, and at once again when one has come', async () => {
    api.statusOfNew = () => ({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' })
    const { metric, dial } = await start()
    const made = () => api.count(/^POST .*pods$/)
    await until('five attempts', () => made() >= 6)
    expect(Number(await metric('berth_kubernetes_pod_faults_total{fault="evicted"}'))).toBeGreaterThanOrEqual(5)
    await until('a pause', async () => Number(await metric('berth_kubernetes_pause_seconds')) > 0.1)
    api.statusOfNew = () => ({ phase: 'Pending' })
    const alive = await until('one that lives', () => pods().find(({ status }) => status['phase'] === 'Pending'))
    await dial(alive.metadata.name)
    await there(2)
    await until('no pause', async () => (await metric('berth_kubernetes_pause_seconds')) === '0')
  })

  it('tries more rarely if a quota refuses pods', async () => {
    api.trouble(/^POST .*pods$/, { status: 403, reason: 'Forbidden' }, 4)
    const { metric } = await start()
    await there(2)
    expect(await metric('berth_kubernetes_api_failures_total{status="403"}')).toBe('4')
  })

  it('forgets the host of a pod that is gone, once no process has its connection', async () => {
    const { dial } = await start()
    await there(2)
    const [pod] = pods()
    await dial(pod?.metadata.name ?? '')
    await until('it waits', async () => (await db.database.query('select 1 from hosts')).rowCount === 1)
    api.remove(pod?.metadata.name ?? '')
    await until('its pod was asked for', () => api.count(/^GET .*pods\/berth-one-/) > 0)
    // A process still has its connection; the row stays until that lets go.
    expect((await db.database.query('select 1 from hosts')).rowCount).toBe(1)
    await db.database.query('update hosts set connected_to = null')
    await until('it is forgotten', async () => (await db.database.query('select 1 from hosts')).rowCount === 0)
  })

  it('replaces pods of an older manifest one by one, as new ones come', async () => {
    const owner = { deployment: randomUUID(), instance: 'one' }
    const before = await start({ owner })
    await there(2)
    const old = pods().map(({ metadata }) => metadata.name)
    for (const one of old) await before.dial(one)
    await before[Symbol.asyncDispose]()
    await start({ owner, image: 'registry.test/other:2' })
    await there(4)
    expect(await cordoned()).toEqual([])
    const fresh = pods().filter(({ metadata }) => !old.includes(metadata.name))
    await before.dial(fresh[0]?.metadata.name ?? '')
    await there(3)
    await before.dial(fresh[1]?.metadata.name ?? '')
    await there(2)
    expect(
      pods()
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    ).toEqual(fresh.map(({ metadata }) => metadata.name).toSorted())
  })

  it('does not trust an API server that another authority has signed for', async () => {
    const other = clean.use(await ApiServer.start())
    const client = clean.use(api.client({ ca: (await import('node:tls')).rootCertificates[0] ?? '' }))
    await expect(client.ask({ method: 'GET', path: '/api/v1/namespaces/sandboxes/pods' })).rejects.toThrow(
      /did not answer/,
    )
    expect([...api.seen, ...other.seen]).toEqual([])
  })
})
