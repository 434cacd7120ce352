import type { Verification } from '@berth/client'
import { describe, expect, it } from 'vitest'
import { type CheckOutcomeKind, outcomeOf } from './outcome.ts'

const revision = 'a'.repeat(64)

function made(id: string, part: Partial<Verification>, environmentRevision = 2): Verification {
  return {
    id,
    sessionId: 's',
    revision,
    tree: 't',
    state: 'passed',
    environment: { id: 'e', revision: environmentRevision },
    checks: [],
    counts: { passed: 0, failed: 0, skipped: 0 },
    requestedBy: { kind: 'person', id: 'p' },
    createdAt: '2026-01-01T00:00:00.000Z',
    completedAt: `2026-01-01T00:00:0${id}.000Z`,
    ...part,
  }
}
const { completedAt: _, ...running } = made('9', { state: 'running' })

describe('a revision', () => {
  it.each<[string, readonly Verification[], CheckOutcomeKind, string | null]>([
    ['without any verification', [], 'none', null],
    ['after another one was verified', [made('1', { revision: 'b'.repeat(64) })], 'other', '1'],
    ['whose checks run', [running, made('1', {})], 'open', '9'],
    ['that has passed', [made('1', {})], 'passed', '1'],
    ['that fails when its checks run anew', [made('2', { state: 'failed' }), made('1', {})], 'failed', '2'],
    ['whose later attempt was cancelled', [made('2', { state: 'cancelled' }), made('1', {})], 'passed', '1'],
    ['whose only attempt was cancelled', [made('1', { state: 'cancelled' })], 'cancelled', '1'],
    ['whose setup failed', [made('1', { state: 'errored' })], 'errored', '1'],
    ['that an earlier revision of the environment has passed', [made('1', {}, 1)], 'outdated', '1'],
    [
      'that passed before and could not be checked now',
      [made('2', { state: 'errored' }), made('1', {}, 1)],
      'errored',
      '2',
    ],
    [
      'whose result by the newest environment is older',
      [made('2', { state: 'failed' }, 1), made('1', {})],
      'passed',
      '1',
    ],
  ])('%s', (_, verifications, kind, by) => {
    const outcome = outcomeOf(verifications, revision, 2)
    expect([outcome.kind, outcome.by?.id ?? null]).toEqual([kind, by])
  })

  it('takes any result while the revision of its environment is not known', () => {
    expect(outcomeOf([made('1', {}, 1)], revision, null).kind).toBe('passed')
  })
})
