import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ApiServer, type StoredPod } from '../../../test/support/kubernetes/api-server.ts'
import { podSettings } from '../../../test/support/kubernetes/pod-settings.ts'
import { SandboxController } from '../../../test/support/kubernetes/sandbox-controller.ts'
import {
  type ProvisionerChanges,
  type StartedProvisioner,
  startProvisioner,
} from '../../../test/support/kubernetes/start-provisioner.ts'
import { silentLog } from '../../../test/support/services/log.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/storage/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { systemClock } from '../../kit/clock.ts'
import { StartError } from '../../kit/start-error.ts'
import { podTemplate } from './pod-manifest.ts'
import { SandboxChoice } from './sandbox-choice.ts'

const { namespace } = podSettings()
let db: TestDatabase
let api: ApiServer
let clean = new AsyncDisposableStack()
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db[Symbol.asyncDispose]())
beforeEach(async () => {
  api = clean.use(await ApiServer.start())
  api.sandboxVersions = ['v1beta1', 'v1alpha1']
})
afterEach(async () => {
  await clean.disposeAsync()
  clean = new AsyncDisposableStack()
  await db.database.query('delete from hosts')
  await db.database.query('delete from chores')
})

const start = async (changes: ProvisionerChanges = {}): Promise<StartedProvisioner> =>
  clean.use(await startProvisioner(db, api, { wish: 'auto', ...changes }))
const control = () => clean.use(SandboxController.start(clean.use(api.client()), namespace))
const pods = () => [...api.pods.values()]
const made = () => api.count(/^POST .*\/sandboxes$/)
const isOfSandbox = ({ metadata }: StoredPod) => {
  const owner = metadata.ownerReferences?.[0]?.uid
  return owner !== undefined && owner === api.sandboxes.get(metadata.name)?.metadata.uid
}
const allOf = (count: number) =>
  until(`${count} Sandboxes with their pods`, () => {
    const all = pods()
    return api.sandboxes.size === count && all.length === count && all.every(isOfSandbox) && all
  })
const cordon = () => db.database.query('update hosts set cordoned_at = now()')

describe('a provisioner where the cluster serves Sandboxes', () => {
  it('makes Sandboxes, whose pods are what it would have made itself', async () => {
    control()
    const { owner, dial } = await start()
    const all = await allOf(2)
    const { metadata, spec } = podTemplate(owner, podSettings()).manifest('10.0.0.1') as StoredPod
    for (const pod of all) {
      expect(pod.spec).toEqual(spec)
      expect(pod.metadata.labels).toMatchObject({
        ...metadata.labels,
        'berth.dev/template': api.sandboxes.get(pod.metadata.name)?.metadata.labels['berth.dev/template'],
      })
    }
    for (const { metadata } of all) await dial(metadata.name)
    await cordon()
    const before = new Set(api.sandboxes.keys())
    await until('two others are there in their place', () => {
      const names = [...api.sandboxes.keys()]
      return names.length === 2 && names.every(name => !before.has(name))
    })
    await allOf(2)
    expect(made()).toBe(4)
  })

  it('does not take a second pod of a Sandbox for the first: both go', async () => {
    control()
    const { dial } = await start()
    const [first] = await allOf(2)
    const name = first?.metadata.name ?? ''
    for (const { metadata } of pods()) await dial(metadata.name)
    await until('both wait', async () => (await db.database.query('select 1 from hosts')).rowCount === 2)
    api.remove(name)
    // A process that is gone has the connection no more.
    await db.database.query('update hosts set connected_to = null where id = $1', [first?.metadata.uid])
    await until('the Sandbox is gone', () => !api.sandboxes.has(name))
    await allOf(2)
    expect(api.pods.has(name)).toBe(false)
    expect(made()).toBe(3)
  })

  it('counts a Sandbox whose pod nobody makes as one that will come, and then gives it up', async () => {
    const { metric } = await start()
    await until('two Sandboxes', () => api.sandboxes.size === 2)
    const first = [...api.sandboxes.keys()]
    for (const name of first) {
      const condition = { type: 'Ready', status: 'False', reason: 'ReconcilerError', message: 'exceeded quota' }
      api.setSandbox(name, { status: { conditions: [condition] } })
    }
    await until(
      'both are told',
      async () => (await metric('berth_kubernetes_pod_faults_total{fault="refused"}')) === '2',
    )
    expect(made()).toBe(2)
    for (const name of first) api.setSandbox(name, { createdAt: new Date(Date.now() - 120_000) })
    await until('both are given up', () => first.every(name => !api.sandboxes.has(name)))
    await until('a pause', async () => Number(await metric('berth_kubernetes_pause_seconds')) >= 0)
  })

  it('touches no Sandbox of another service in the namespace', async () => {
    control()
    const one = await start({ plan: { idle: 1 } })
    const ofOne = () =>
      pods().filter(({ metadata }) => metadata.labels['berth.dev/deployment'] === one.owner.deployment)
    await until('one of its own', () => ofOne().length === 1)
    const two = await start({ owner: { deployment: randomUUID(), instance: 'two' }, plan: { idle: 2 } })
    await allOf(3)
    await two[Symbol.asyncDispose]()
    for (const { metadata } of ofOne()) api.setStatus(metadata.name, { phase: 'Succeeded' })
    await until('it is replaced', () => made() === 4)
    await allOf(3)
  })

  it('goes on with the Sandboxes that it finds after a restart', async () => {
    control()
    const before = await start()
    await allOf(2)
    for (const { metadata } of pods()) await before.dial(metadata.name)
    await before[Symbol.asyncDispose]()
    const { metric } = await start({ owner: before.owner })
    await until('it counts them', async () => (await metric('berth_kubernetes_pods{state="idle"}')) === '2')
    expect(made()).toBe(2)
  })

  it('postpones their end while it lives', async () => {
    control()
    await start({ lifeMs: 3_600_000 })
    const [first] = await allOf(2)
    const { name = '', uid } = first?.metadata ?? {}
    const ends = () => Date.parse(String(api.sandboxes.get(name)?.spec['shutdownTime']))
    const begin = ends()
    // Less than half of its life is left.
    api.setSandbox(name, { spec: { shutdownTime: new Date(Date.now() + 1_500_000).toISOString() } })
    await until('it ends later', () => ends() >= begin)
    expect(api.named(name).metadata.uid).toBe(uid)
  })

  it('leaves the API server alone, goes on after errors, and lists again when a state is too old', async () => {
    control()
    api.trouble(/^GET .*\/sandboxes$/, { status: 429, retryAfter: 1 })
    api.trouble(/^POST .*\/sandboxes$/, { status: 500 }, 2)
    const { metric } = await start()
    await allOf(2)
    expect(Number(await metric('berth_kubernetes_api_failures_total{status="500"}'))).toBe(2)
    const lists = api.count(/^GET .*\/sandboxes$/)
    api.compact()
    await until('other lists', () => api.count(/^GET .*\/sandboxes$/) > lists)
    api.remove(pods()[0]?.metadata.name ?? '')
    await allOf(2)
  })
})

describe('the choice between Sandboxes and pods', () => {
  it.each([
    ['serves no Sandboxes', () => Object.assign(api, { sandboxVersions: [] })],
    ['serves only a version that is not known', () => Object.assign(api, { sandboxVersions: ['v2'] })],
    ['does not let it make any', () => Object.assign(api, { forbidden: ['create'] })],
    ['does not let it discover', () => api.trouble(/^GET \/apis\/agents/, { status: 403 }, 1000)],
  ])('is for pods if the cluster %s', async (_, arrange) => {
    arrange()
    await start()
    await until('two pods', () => api.pods.size === 2)
    expect([made(), api.sandboxes.size]).toEqual([0, 0])
  })

  it('waits for an API server that does not say', async () => {
    api.trouble(/^GET \/apis\/agents/, { status: 503 }, 2)
    const { metric } = await start()
    await until('two Sandboxes', () => api.sandboxes.size === 2)
    expect([api.pods.size, await metric('berth_kubernetes_api_failures_total{status="503"}')]).toEqual([0, '2'])
  })

  it('changes with the cluster, and pods of the old kind go as new ones come', async () => {
    api.sandboxVersions = []
    const { dial } = await start({ askMs: 20 })
    await until('two pods', () => api.pods.size === 2)
    const bare = pods().map(({ metadata }) => metadata.name)
    for (const name of bare) await dial(name)
    control()
    api.sandboxVersions = ['v1beta1']
    await until('two Sandboxes', () => api.sandboxes.size === 2 && api.pods.size === 4)
    for (const name of api.sandboxes.keys()) {
      expect(api.pods.has(name)).toBe(true)
      await dial(name)
    }
    await allOf(2)
    // Their definition is deleted, and they with it.
    for (const { metadata } of pods()) api.remove(metadata.name)
    api.sandboxes.clear()
    api.sandboxVersions = []
    await until('two pods of its own', () => api.pods.size === 2 && !pods().some(isOfSandbox))
  })

  it('deletes a pod that has a Sandbox with it, even if it makes none any more', async () => {
    control()
    const before = await start()
    await allOf(2)
    for (const { metadata } of pods()) await before.dial(metadata.name)
    await before[Symbol.asyncDispose]()
    const after = await start({ owner: before.owner, wish: 'off' })
    const fresh = await until('two pods of its own', () => {
      const own = pods().filter(pod => !isOfSandbox(pod))
      return own.length === 2 && own
    })
    for (const { metadata } of fresh) await after.dial(metadata.name)
    await until('no Sandbox', () => api.sandboxes.size === 0 && api.pods.size === 2)
  })

  it.each([
    [() => Object.assign(api, { sandboxVersions: [] }), /does not serve sandboxes.*install a release of agent-sandbox/],
    [() => Object.assign(api, { sandboxVersions: ['v2'] }), /it has v2/],
    [
      () => Object.assign(api, { forbidden: ['create', 'patch'] }),
      /may not create, patch sandboxes.*give it the right/,
    ],
  ])('refuses the start if it is forced and cannot be', async (arrange, words) => {
    arrange()
    const choice = new SandboxChoice({
      ...{ wish: 'on', api: clean.use(api.client()), namespace, clock: systemClock, log: silentLog },
    })
    await expect(choice.check()).rejects.toThrow(words)
    await expect(choice.check()).rejects.toBeInstanceOf(StartError)
    api.trouble(/^GET \/apis\/agents/, { status: 503 })
    await expect(choice.check()).resolves.toBeUndefined()
  })
})
