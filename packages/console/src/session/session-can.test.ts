import { personCapabilities } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { type Situation, sessionActions, sessionCan } from './session-can.ts'

const live = { conversation: { fidelity: 'live' }, workspace: { fidelity: 'live' } } as const
const source = {
  kind: 'github',
  grantId: 'g',
  repositoryId: '1',
  label: 'a/b',
  private: true,
  baseBranch: 'main',
  baseOid: '',
}

function situation(session: Partial<Situation['session']> = {}, rest: Partial<Situation> = {}): Situation {
  return {
    session: {
      phase: 'idle',
      continuation: { canContinue: true, state: 'live', ...live },
      workspace: { state: 'attached', expiresAt: null },
      source,
      ...session,
    },
    capabilities: personCapabilities,
    online: true,
    ...rest,
  }
}

const runs = { activeRunId: 'r', phase: 'running' } as const
const lost = {
  continuation: { canContinue: false, state: 'unavailable', ...live, reason: 'checkpoint_missing' },
} as const
const archived = {
  archivedAt: '2026-01-01T00:00:00Z',
  continuation: { canContinue: false, state: 'unavailable', ...live, reason: 'session_archived' },
} as const
const situations = {
  idle: situation(),
  running: situation(runs),
  'foreign at work': situation({ ...runs, runtime: 'opencode' }),
  fresh: situation({ continuation: { canContinue: true, state: 'fresh', ...live, reason: 'no_prior_work' } }),
  'sandbox gone': situation({ workspace: { state: 'expired', expiresAt: null } }),
  'work lost': situation({ ...lost, workspace: { state: 'expired', expiresAt: null } }),
  'no repository': (() => {
    const { source: _, ...session } = situation().session
    return { ...situation(), session }
  })(),
  archived: situation({ ...archived, workspace: { state: 'expired', expiresAt: null } }),
  offline: situation({}, { online: false }),
  'no rights': situation({}, { capabilities: [] }),
}

describe('every action in every situation', () => {
  test('is allowed exactly as the table says', () => {
    const table = Object.fromEntries(
      Object.entries(situations).map(([name, situation]) => [
        name,
        sessionActions.filter(action => sessionCan(action, situation).allowed).join(' '),
      ]),
    )
    expect(table).toEqual({
      idle: 'message answer decide rename archive fork terminal review preview startPreview view publish verify merge',
      running:
        'queue steer stop answer decide rename archive fork terminal review preview startPreview view verify merge',
      fresh: 'message answer decide rename archive terminal review preview startPreview view publish verify merge',
      'sandbox gone': 'message answer decide rename archive fork wake review startPreview view publish verify merge',
      'work lost': 'answer decide rename archive reset review view verify merge',
      'no repository': 'message answer decide rename archive fork terminal preview startPreview view',
      archived: 'review view',
      'foreign at work':
        'queue stop answer decide rename archive fork terminal review preview startPreview view verify merge',
      offline: 'review',
      'no rights': '',
    })
  })

  test('says why it is not allowed', () => {
    for (const situation of Object.values(situations)) {
      for (const action of sessionActions) {
        const verdict = sessionCan(action, situation)
        if (!verdict.allowed) expect(verdict.reason).toMatch(/\.$/)
      }
    }
  })
})
