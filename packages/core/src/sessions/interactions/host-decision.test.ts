import { describe, expect, it } from 'vitest'
import { hostState, type LastQuestion } from './host-decision.ts'

const now = new Date('2026-01-01T12:00:00Z')
const ago = (ms: number) => new Date(now.getTime() - ms)
const last = (more: Partial<LastQuestion>): LastQuestion => ({
  id: 'i',
  status: 'resolved',
  resolution: null,
  deadline: now,
  delivered_at: null,
  decided_by_kind: 'person',
  lease_id: 'l',
  ...more,
})

describe('a connection to a host that the environment does not name', () => {
  it.each([
    ['nobody was asked', null, { kind: 'unasked' }],
    ['people are asked', last({ status: 'open' }), { kind: 'open', id: 'i', deadline: now }],
    ['allowed for the Turn', last({ resolution: 'turn_allowed' }), { kind: 'allowed', unused: null }],
    ['allowed for the Session', last({ resolution: 'always_allowed' }), { kind: 'allowed', unused: null }],
    [
      'allowed by a rule',
      last({ resolution: 'project_allowed', decided_by_kind: null }),
      { kind: 'allowed', unused: null },
    ],
    ['allowed for the environment, and removed since', last({ resolution: 'project_allowed' }), { kind: 'unasked' }],
    ['allowed once, and not used', last({ resolution: 'approved' }), { kind: 'allowed', unused: 'i' }],
    [
      'allowed once, and used a moment ago',
      last({ resolution: 'approved', delivered_at: ago(59_999) }),
      { kind: 'allowed', unused: null },
    ],
    [
      'allowed once, and used a minute ago',
      last({ resolution: 'approved', delivered_at: ago(60_000) }),
      { kind: 'unasked' },
    ],
    ['denied', last({ resolution: 'denied' }), { kind: 'refused', reason: 'denied' }],
    ['timed out', last({ status: 'expired', resolution: 'timed_out' }), { kind: 'refused', reason: 'timed_out' }],
    ['lost with its sandbox', last({ status: 'expired', resolution: 'workspace_lost' }), { kind: 'unasked' }],
  ] as const)('is decided by what was before: %s', (_, before, expected) => {
    expect(hostState(false, before, now)).toEqual(expected)
  })

  it.each([last({ status: 'open' }), last({ resolution: 'denied' }), null])(
    'is allowed once somebody allowed it for the environment',
    before => expect(hostState(true, before, now)).toEqual({ kind: 'allowed', unused: null }),
  )
})
