import { expect, test } from 'vitest'
import { plainLine } from '../src/plain-line.ts'
import { runEvent } from './event-fixtures.ts'

test.each([
  ['svc.run.started', { status: 'running', attempt: 2 }, '1 svc.run.started attempt 2'],
  ['svc.run.progress', { activityId: 'a', name: 'bash', status: 'started' }, '1 svc.run.progress started bash'],
  [
    'svc.activity.completed',
    { activityId: 'a', name: 'bash', title: 'ls -la', status: 'succeeded', output: 'one\ntwo\n', durationMs: 1234 },
    '1 svc.activity.completed succeeded ls -la (1.2 s): one\\ntwo\\n',
  ],
  [
    'svc.activity.completed',
    { activityId: 'a', title: 'seq', status: 'succeeded', output: `${'x'.repeat(8_000)}${'😀'.repeat(300)}` },
    `1 svc.activity.completed succeeded seq (0 ms): (8000 more characters before these, see --json) ${'😀'.repeat(300)}`,
  ],
  ['svc.message.created', { role: 'assistant', text: 'Done.\nBye' }, '1 svc.message.created assistant: Done.\\nBye'],
  [
    'svc.run.completed',
    { status: 'completed', stopReason: 'completed', costUsd: 0.0123, costComplete: false },
    '1 svc.run.completed completed at least $0.0123',
  ],
  [
    'svc.run.failed',
    { status: 'failed', stopReason: 'error', errorCode: 'shell_exit_nonzero' },
    '1 svc.run.failed shell_exit_nonzero error',
  ],
  [
    'svc.environment.apply',
    { status: 'started', name: 'web', revision: 3 },
    '1 svc.environment.apply Setting up environment “web” r3',
  ],
  [
    'svc.environment.apply',
    { status: 'failed', name: 'web', revision: 3, errorCode: 'setup_timeout', durationMs: 1_200_000 },
    '1 svc.environment.apply Setup of environment “web” r3 failed in 20 min: the setup script ran longer than the service allows (BERTH_SETUP_SECONDS) (setup_timeout)',
  ],
  ['svc.workspace.progress', { title: 'Cloning', status: 'started' }, '1 svc.workspace.progress Cloning'],
  [
    'svc.workspace.progress',
    { title: 'Restoring the workspace', status: 'succeeded', durationMs: 12_300 },
    '1 svc.workspace.progress Restoring the workspace (12.3 s)',
  ],
  ['svc.environment.output', { offset: 0, text: 'added 12\n' }, '1 svc.environment.output added 12\\n'],
  ['svc.run.cancelled', {}, '1 svc.run.cancelled'],
  ['svc.from.the.future', { x: [1] }, '1 svc.from.the.future {"x":[1]}'],
  ['svc.message.created', { role: 7, text: null }, '1 svc.message.created assistant:'],
])('%s is printed with a summary', (type, data, line) => {
  expect(plainLine(runEvent(1, type, data))).toBe(line)
})

test('an Event takes one line whatever the agent writes', () => {
  const text = 'a\nb\r\u001b[2J\u009b31m\u2028c'
  const line = plainLine(runEvent(3, 'svc.message.created', { role: 'assistant', text }))
  expect(line).toBe('3 svc.message.created assistant: a\\nb␍␛[2J\ufffd31m\\nc')
})
