import type { HostIdentity } from '@berth/core/hosts/host-identity.ts'
import { listHosts } from '@berth/core/hosts/host-sql.ts'
import { GuessMeter } from '@berth/core/identity/guard/guess-meter.ts'
import { Pods } from '@berth/kubernetes/api/pods.ts'
import { podIdentity } from '@berth/kubernetes/identity/pod-identity.ts'
import { podTemplate, selectorOf } from '@berth/kubernetes/pods/pod-manifest.ts'
import { dialHost, makeToken } from '@berth/testing/hosts/dialled-host.ts'
import { type TakingHosts, takeHosts } from '@berth/testing/hosts/taking-hosts.ts'
import { ApiServer, type StoredPod } from '@berth/testing/kubernetes/api-server.ts'
import { podSettings } from '@berth/testing/kubernetes/pod-settings.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJiZXJ0aCJ9.c2lnbmF0dXJl'
const owner = { deployment: 'd1', instance: 'one' }
const { namespace, serviceAccount } = podSettings()

let db: TestDatabase
let api: ApiServer
let identity: HostIdentity
let taking: TakingHosts
let pod: StoredPod
const clean = new AsyncDisposableStack()
beforeAll(async () => {
  db = clean.use(await createTestDatabase())
  api = clean.use(await ApiServer.start())
  const client = clean.use(api.client({ timeoutMs: 2_000 }))
  const pods = new Pods(client, { namespace, selector: selectorOf(owner) })
  identity = podIdentity({
    ...{ api: client, pods, owner, namespace, serviceAccount },
    ...{ provisioner: 'one/sandboxes', pool: 'cluster' },
  })
  taking = clean.use(await takeHosts(db, 'a-process', identity))
})
afterAll(() => clean.disposeAsync())
beforeEach(() => {
  pod = newPod('berth-one-abcde')
  api.reviews.set(TOKEN, reviewOf(pod))
})
afterEach(async () => {
  api.pods.clear()
  api.reviews.clear()
  await db.database.query('delete from hosts')
})

function newPod(name: string, whose = owner): StoredPod {
  const { metadata } = podTemplate(whose, podSettings()).manifest('10.0.0.1') as { metadata: object }
  return api.put({ metadata: { ...metadata, name } }, { phase: 'Running' })
}

const reviewOf = ({ metadata: { name, uid } }: StoredPod, changes: object = {}, user: object = {}) => ({
  authenticated: true,
  audiences: ['berth'],
  user: {
    username: `system:serviceaccount:${namespace}:${serviceAccount}`,
    extra: {
      'authentication.kubernetes.io/pod-name': [name],
      'authentication.kubernetes.io/pod-uid': [uid],
    },
    ...user,
  },
  ...changes,
})
/** Dials, and lets the service say its first words: Node cannot end a session of HTTP/2 in the moment of its begin. */
const dial = async (token = TOKEN, claims: Parameters<typeof dialHost>[2] = {}) => {
  const host = await dialHost(taking.port, token, claims)
  await until('it was asked for its facts', () => host.calls.includes('facts'))
  return host
}
const refused = (status: number, pattern: RegExp) => async (dialling: Promise<unknown>) => {
  await expect(dialling).rejects.toMatchObject({ status, message: expect.stringMatching(pattern) })
  expect(await listHosts(db.database)).toEqual([])
}

describe('a pod that dials', () => {
  it('is a host of one sandbox, under its uid, whatever it says of itself', async () => {
    const { line, epoch } = await dial(TOKEN, { capacity: 99, pool: 'other', labels: { a: 'b' } })
    expect(epoch).toBe(1)
    await until('it is held', () => taking.hosts.holds(pod.metadata.uid))
    expect(await listHosts(db.database)).toMatchObject([
      { id: pod.metadata.uid, name: 'berth-one-abcde', capacity: 1, pool: 'cluster', labels: {}, dials: true },
    ])
    const again = await dial()
    expect(again.epoch).toBe(2)
    for (const one of [line, again.line]) one.destroy()
  })

  it('is refused with a token that the API server does not know', async () => {
    api.reviews.clear()
    const lookups = api.count(/pods\/berth/)
    await refused(401, /this token is not valid/)(dialHost(taking.port, TOKEN))
    expect(api.count(/pods\/berth/)).toBe(lookups)
  })

  it.each([
    ['another audience', () => ({ audiences: ['https://kubernetes.default.svc'] })],
    ['no audience', () => ({ audiences: undefined })],
  ])('is refused with a token of %s', async (_, changes) => {
    api.reviews.set(TOKEN, reviewOf(pod, changes()))
    await refused(401, /for somebody else/)(dialHost(taking.port, TOKEN))
  })

  it.each([
    `system:serviceaccount:elsewhere:${serviceAccount}`,
    `system:serviceaccount:${namespace}:default`,
    'system:admin',
  ])('is refused as %s', async username => {
    api.reviews.set(TOKEN, reviewOf(pod, {}, { username }))
    await refused(403, /may not hold sandboxes/)(dialHost(taking.port, TOKEN))
  })

  it.each([
    ['no pod', {}],
    ['two pods', { 'authentication.kubernetes.io/pod-name': ['a', 'b'] }],
  ])('is refused with a token that names %s', async (_, extra) => {
    api.reviews.set(TOKEN, reviewOf(pod, {}, { extra }))
    await refused(401, /not bound to a pod/)(dialHost(taking.port, TOKEN))
  })

  it('is refused once it is deleted, though the API server still remembers its token', async () => {
    api.remove(pod.metadata.name)
    await refused(401, /is gone/)(dialHost(taking.port, TOKEN))
    newPod(pod.metadata.name)
    await refused(401, /is gone/)(dialHost(taking.port, TOKEN))
  })

  it('is refused while it is being deleted, and after its end', async () => {
    api.setStatus(pod.metadata.name, { phase: 'Failed' })
    await refused(401, /is gone/)(dialHost(taking.port, TOKEN))
    api.setStatus(pod.metadata.name, { phase: 'Running' })
    pod.metadata.deletionTimestamp = new Date().toISOString()
    await refused(401, /is gone/)(dialHost(taking.port, TOKEN))
  })

  it.each([
    { ...owner, deployment: 'd2' },
    { ...owner, instance: 'two' },
  ])('is refused if %j has made it', async whose => {
    const other = newPod('berth-other', whose)
    api.reviews.set(TOKEN, reviewOf(other))
    await refused(403, /another service/)(dialHost(taking.port, TOKEN))
  })

  it('is told to come again while the API server is away, broken or silent', async () => {
    for (const trouble of ['silence', { status: 500 }, { status: 429, retryAfter: 1 }] as const) {
      api.trouble(/tokenreviews/, trouble)
      await refused(503, /try again/)(dialHost(taking.port, TOKEN))
    }
    api.trouble(/pods\/berth/, { status: 500 })
    await refused(503, /try again/)(dialHost(taking.port, TOKEN))
    ;(await dial()).line.destroy()
  })

  it('is judged no more after sixty wrong tokens of its address', async () => {
    await using metered = await takeHosts(db, 'metered', identity, 5_000, new GuessMeter(() => 0))
    const lookups = api.count(/tokenreviews/)
    for (let guess = 0; guess < 60; guess += 1) {
      await refused(401, /this token is not valid/)(dialHost(metered.port, `a.b.${guess}`.padEnd(16, 'x')))
    }
    await refused(429, /too many wrong tokens/)(dialHost(metered.port, TOKEN))
    expect(api.count(/tokenreviews/)).toBe(lookups + 60)
  })

  it('stays out once an operator has removed it', async () => {
    const { line } = await dial()
    await db.database.query('update hosts set removed_at = now()')
    await until('its line is closed', () => !line.isOpen)
    await expect(dialHost(taking.port, TOKEN)).rejects.toMatchObject({ status: 401 })
  })

  it('is none of the hosts that have a token of ours, which no API server sees', async () => {
    const lookups = api.seen.length
    const { token } = await makeToken(db.database)
    ;(await dial(token)).line.destroy()
    expect(api.seen.length).toBe(lookups)
  })
})
