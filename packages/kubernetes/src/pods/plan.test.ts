import { describe, expect, it } from 'vitest'
import type { ObservedPod } from '../api/observe-pod.ts'
import { failed, notFailing } from './failing.ts'
import { type PlanSettings, type PodHost, planPods, TEMPLATE_LABEL } from './plan.ts'

const now = new Date('2026-01-01T12:00:00Z')
const ago = (ms: number) => new Date(now.getTime() - ms)
const settings: PlanSettings = { idle: 2, most: 10, template: 't1', startMs: 60_000, graceMs: 10_000, burst: 5 }
const pod = (uid: string, changes: Partial<ObservedPod> & { template?: string } = {}): ObservedPod => ({
  ...{ uid, name: `pod-${uid}`, createdAt: ago(1000), state: 'running', fault: null, detail: '' },
  labels: { [TEMPLATE_LABEL]: changes.template ?? 't1' },
  ...changes,
})
const host = (id: string, changes: Partial<PodHost> = {}): PodHost => ({
  ...{ id, name: `pod-${id}`, leases: 0, isConnected: true, heardAt: now, cordonedAt: null },
  ...changes,
})
const actions = (
  pods: readonly ObservedPod[],
  hosts: readonly PodHost[],
  changes: Partial<PlanSettings> = {},
  failing = notFailing,
) =>
  planPods(pods, hosts, { ...settings, ...changes }, failing, now).actions.map(action => {
    if (action.kind === 'create') return `create ${action.count}`
    if (action.kind === 'delete') return `delete ${action.pod.uid} ${action.because}`
    return `${action.kind} ${typeof action.host === 'string' ? action.host : action.host.id}`
  })

describe('the plan for pods', () => {
  const waiting = [pod('a'), pod('b')]
  const both = [host('a'), host('b')]
  it.each([
    ['nothing is there', [], [], ['create 2']],
    ['enough wait', waiting, both, []],
    ['one waits and one starts', [pod('a'), pod('b', { state: 'starting' })], [host('a')], []],
    ['one is leased', waiting, [host('a', { leases: 1 }), host('b')], ['cordon a', 'create 1']],
    [
      'one is leased and known to be',
      waiting,
      [host('a', { leases: 1, cordonedAt: ago(99) }), host('b')],
      ['create 1'],
    ],
    ['a lease is just over', waiting, [host('a', { cordonedAt: ago(9_999) }), host('b')], ['create 1']],
    ['a lease is over', waiting, [host('a', { cordonedAt: ago(10_000) }), host('b')], ['delete a over', 'create 1']],
    [
      'a leased host is away',
      waiting,
      [host('a', { leases: 1, isConnected: false, cordonedAt: ago(9e6) }), host('b')],
      ['create 1'],
    ],
    ['a pod has ended by itself', [pod('a', { state: 'ended' }), pod('b')], both, ['delete a over', 'create 1']],
    [
      'a leased pod was evicted',
      [pod('a', { state: 'ended', fault: 'evicted' }), pod('b')],
      [host('a', { leases: 1 }), host('b')],
      ['delete a evicted', 'create 1'],
    ],
    ['a pod is being deleted', [pod('a', { state: 'ending' }), pod('b')], both, ['create 1']],
    ['one is too many', [...waiting, pod('c', { createdAt: ago(1) })], [...both, host('c')], ['cordon c']],
    [
      'a pod never dialled',
      [pod('a', { createdAt: ago(60_000) }), pod('b')],
      [host('b')],
      ['delete a silent', 'create 1'],
    ],
    [
      'an image is missing, still in time',
      [pod('a', { state: 'starting', fault: 'image_missing' }), pod('b')],
      [host('b')],
      [],
    ],
    [
      'an image is missing',
      [pod('a', { state: 'starting', fault: 'image_missing', createdAt: ago(60_000) }), pod('b')],
      [host('b')],
      ['delete a image_missing', 'create 1'],
    ],
    [
      'a waiting host left and may come back',
      waiting,
      [host('a', { isConnected: false, heardAt: ago(59_999) }), host('b')],
      [],
    ],
    [
      'a waiting host left',
      [pod('a', { createdAt: ago(9e6) }), pod('b')],
      [host('a', { isConnected: false, heardAt: ago(60_000) }), host('b')],
      ['cordon a', 'create 1'],
    ],
    ['the pod of a host is not to be seen', waiting, [...both, host('x')], ['verify x']],
    ['pods of an old manifest wait', [pod('a', { template: 't0' }), pod('b', { template: 't0' })], both, ['create 2']],
    [
      'one new pod has come',
      [pod('a', { template: 't0', createdAt: ago(1) }), pod('b', { template: 't0' }), pod('c')],
      [...both, host('c')],
      ['cordon b', 'create 1'],
    ],
    [
      'an old pod only starts',
      [pod('a', { template: 't0', state: 'starting' }), ...waiting.slice(1)],
      [host('b')],
      ['delete a surplus', 'create 1'],
    ],
  ] as const)('if %s', (_, pods, hosts, expected) => {
    expect(actions(pods, hosts)).toEqual(expected)
  })

  it('creates no more than may be there, and no more than a burst at a time', () => {
    expect(actions(waiting, [host('a', { leases: 1, cordonedAt: now }), host('b')], { idle: 9, most: 4 })).toEqual([
      'create 2',
    ])
    expect(actions([pod('a', { state: 'ending' })], [], { most: 1 })).toEqual([])
    expect(actions([], [], { idle: 9, burst: 3 })).toEqual(['create 3'])
  })

  it('waits after a failure, then tries with one pod, and longer after each', () => {
    const once = failed(notFailing, now)
    expect(actions([], [], {}, once)).toEqual([])
    expect(actions([], [], {}, { ...once, until: now })).toEqual(['create 1'])
    const pauseAfter = (failures: number) => failed({ ...once, failures }, now).until.getTime() - now.getTime()
    expect([0, 1, 2, 6, 98].map(pauseAfter)).toEqual([5_000, 10_000, 20_000, 300_000, 300_000])
  })

  it('never deletes a living pod with a lease, whatever else is true of it', () => {
    const flags = [true, false]
    for (const isConnected of flags)
      for (const cordonedAt of [null, ago(9e6)])
        for (const template of ['t0', 't1'])
          for (const fault of [null, 'crashing', 'out_of_memory'] as const) {
            const seen = [pod('a', { template, fault, createdAt: ago(9e6) })]
            const leased = host('a', { leases: 1, isConnected, cordonedAt, heardAt: ago(9e6) })
            expect(actions(seen, [leased], { idle: 0 }).filter(one => one.startsWith('delete'))).toEqual([])
          }
  })
})
