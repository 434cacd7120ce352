import { describe, expect, it } from 'vitest'
import { observePod } from './observe-pod.ts'

const seen = (status: object, metadata: object = {}) =>
  observePod({ metadata: { name: 'p', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata }, status })
const container = (state: object, lastState: object = {}) => ({ name: 'agent', state, lastState })
const waiting = (reason: string) => container({ waiting: { reason, message: 'why' } })

describe('a pod as the provisioner sees it', () => {
  it.each([
    [{ phase: 'Pending' }, 'starting', null],
    [{ phase: 'Pending', containerStatuses: [waiting('ContainerCreating')] }, 'starting', null],
    [{ phase: 'Pending', containerStatuses: [waiting('ImagePullBackOff')] }, 'starting', 'image_missing'],
    [{ phase: 'Pending', initContainerStatuses: [waiting('ErrImagePull')] }, 'starting', 'image_missing'],
    [{ phase: 'Pending', containerStatuses: [waiting('CreateContainerConfigError')] }, 'starting', 'container_refused'],
    [{ phase: 'Running', containerStatuses: [waiting('CrashLoopBackOff')] }, 'running', 'crashing'],
    [
      { phase: 'Running', containerStatuses: [container({ running: {} }, { terminated: { reason: 'OOMKilled' } })] },
      'running',
      'out_of_memory',
    ],
    [
      { phase: 'Failed', containerStatuses: [container({ terminated: { reason: 'OOMKilled' } })] },
      'ended',
      'out_of_memory',
    ],
    [
      {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'The node was low on resource',
        containerStatuses: [container({ terminated: { reason: 'OOMKilled' } })],
      },
      'ended',
      'evicted',
    ],
    [
      { phase: 'Failed', containerStatuses: [container({ terminated: { reason: 'Error', exitCode: 1 } })] },
      'ended',
      'failed',
    ],
    [{ phase: 'Succeeded' }, 'ended', null],
    [
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes' }] },
      'starting',
      'unschedulable',
    ],
    [{ phase: 'Running', conditions: [{ type: 'PodScheduled', status: 'True' }] }, 'running', null],
  ])('%j is %s, %s', (status, state, fault) => {
    expect(seen(status)).toMatchObject({ state, fault })
  })

  it('is being deleted from the moment at which somebody asked for it', () => {
    expect(seen({ phase: 'Running' }, { deletionTimestamp: '2026-01-01T00:00:01Z' })?.state).toBe('ending')
  })

  it('is read from whatever an API server sends', () => {
    for (const none of [null, 'pod', {}, { metadata: { name: 'p' } }, { metadata: { uid: 1, name: 'p' } }]) {
      expect(observePod(none)).toBeNull()
    }
    expect(seen({ phase: 1, containerStatuses: 'x', conditions: [null] }, { labels: { a: 1, b: 'c' } })).toMatchObject({
      state: 'starting',
      fault: null,
      labels: { b: 'c' },
    })
    expect(seen({ phase: 'Failed', reason: 'Evicted', message: 'x'.repeat(9_000) })?.detail.length).toBe(300)
  })
})
