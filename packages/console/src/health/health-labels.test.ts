import type { Health } from '@berth/contract'
import { expect, test } from 'vitest'
import { clockTime } from '../ui/format.ts'
import { judge } from './health-labels.ts'

const now = Date.parse('2026-03-01T12:00:00Z')
const host = { name: 'a', seenAt: '', away: false, restsUntil: null, runtimes: [], packagesFault: null, leases: 0 }
const resting = (at: string) => ({ ...host, restsUntil: `2026-03-01T${at}Z` })
const queuedAt = (ms: number) => [{ sessionId: '', title: '', queuedAt: new Date(now - ms).toISOString() }]

const health = (changes: Partial<Health>): Health => ({
  at: '',
  hosts: [host],
  runs: { queued: 0, dispatching: 0, running: 0, awaiting: 0, oldest: [] },
  ended: { completed: 0, failed: 0, cancelled: 0, crashed: 0 },
  leases: [],
  liveLeases: 0,
  backlogs: [],
  models: { requests: 0, failed: 0 },
  ...changes,
})
const runs = { queued: 2, dispatching: 0, running: 0, awaiting: 0 }

const ended = { completed: 0, failed: 0, cancelled: 0, crashed: 0 }

const cases: readonly (readonly [string, string, Partial<Health>])[] = [
  ['plain', 'Everything works.', {}],
  ['plain', 'Everything works.', { runs: { ...runs, oldest: queuedAt(1_000) } }],
  ['warning', '2 Runs in the queue: every host is busy.', { runs: { ...runs, oldest: queuedAt(600_000) } }],
  ['warning', '1 host away. The others go on.', { hosts: [host, { ...host, away: true }] }],
  ['bad', 'No host is at work. Runs wait until a worker starts.', { hosts: [{ ...host, away: true }] }],
  ['warning', '1 host at rest after failures. The others go on.', { hosts: [host, resting('12:05:00')] }],
  [
    'bad',
    `Every host has failed and rests. New sandboxes wait until ${clockTime('2026-03-01T12:02:00Z')}.`,
    { hosts: [resting('12:05:00'), resting('12:02:00'), { ...host, away: true }] },
  ],
  [
    'bad',
    'Most requests to models failed in the last hour. Ask your operator about the providers.',
    { models: { requests: 5, failed: 3 } },
  ],
  ['warning', '1 of 500 Runs failed in the last 24 hours.', { ended: { ...ended, completed: 499, crashed: 1 } }],
  ['bad', '7 of 12 Runs failed in the last 24 hours.', { ended: { ...ended, completed: 5, failed: 7 } }],
  ['plain', 'Everything works.', { ended: { ...ended, completed: 5, cancelled: 7 } }],
  ['plain', 'Everything works.', { models: { requests: 4, failed: 4 } }],
]

test.each(cases)('is %s: %s', (tone, text, changes) => {
  expect(judge(health(changes), now)).toEqual({ tone, text })
})
