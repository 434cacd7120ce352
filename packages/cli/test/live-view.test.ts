import type { Event } from '@berth/client'
import { eventTypes } from '@berth/contract'
import { expect, test } from 'vitest'
import {
  initialLiveState,
  type LiveState,
  liveStateOf,
  showCancelling,
  showEvent,
  showPreview,
  showStatus,
} from '../src/live-view.ts'
import type { Paint } from '../src/output.ts'
import { runEvent } from './event-fixtures.ts'

const plain: Paint = (_, text) => text
const at = { frame: 0, columns: 40, now: 0 }

function play(events: readonly Event[], from: LiveState = initialLiveState): { state: LiveState; lines: string[] } {
  return events.reduce(
    ({ state, lines }, event) => {
      const shown = showEvent(state, event, plain)
      return { state: shown.state, lines: [...lines, ...shown.lines] }
    },
    { state: from, lines: [] as string[] },
  )
}

const started = (sequence: number, attempt = 1) => runEvent(sequence, 'svc.run.started', { status: 'running', attempt })
const tool = (sequence: number, activityId: string, status: string, name = 'bash') =>
  runEvent(sequence, 'svc.run.progress', { activityId, category: 'tool', name, status })
const activity = (sequence: number, activityId: string, data: Record<string, unknown>) =>
  runEvent(sequence, 'svc.activity.completed', {
    activityId,
    name: 'bash',
    status: 'succeeded',
    durationMs: 5,
    ...data,
  })

test('a Run is shown from its queue to its end', () => {
  expect(showStatus(initialLiveState, at, plain)).toEqual(['⠋ waiting for a sandbox…'])
  const plan = { entries: [{ content: 'Look', status: 'pending' }] }
  expect(showStatus(liveStateOf({ plan, background: [] }), at, plain).join()).toContain('Look')
  const working = play([started(1)])
  expect(showStatus(working.state, at, plain)).toEqual(['⠋ working…'])
  const calling = play([tool(2, 'a', 'started'), tool(3, 'b', 'started', 'read')], working.state)
  expect(calling.lines).toEqual([])
  expect(showStatus(calling.state, { ...at, frame: 1 }, plain)).toEqual(['⠙ bash', '⠙ read'])
  const rest = play(
    [
      tool(4, 'b', 'failed', 'read'),
      activity(5, 'a', { title: 'ls', output: 'one\ntwo\n' }),
      tool(6, 'a', 'succeeded'),
      runEvent(7, 'svc.message.created', { role: 'user', text: 'list them' }),
      runEvent(8, 'svc.message.created', { role: 'assistant', text: 'Two files.\n' }),
      runEvent(61, 'svc.run.completed', { status: 'completed', stopReason: 'completed', costUsd: 0.5 }),
    ],
    calling.state,
  )
  expect(rest.lines).toEqual(['✓ ls 5 ms', '  one', '  two', '✗ read', 'Two files.', 'completed · 1 min · $0.5000'])
  expect(showStatus(rest.state, at, plain)).toEqual([])
})

test('an environment is one line while it is applied, and one when it is; a failure shows what it wrote', () => {
  const of = { name: 'web', revision: 3 }
  const applying = play([runEvent(1, 'svc.environment.apply', { ...of, status: 'started' })])
  expect([applying.lines, showStatus(applying.state, at, plain)]).toEqual([[], ['⠋ Setting up environment “web” r3…']])
  const output = runEvent(2, 'svc.environment.output', { offset: 0, text: 'one\n\u001b[32mtwo\u001b[0m\n' })
  const writing = play([output], applying.state)
  expect([writing.lines, showStatus(writing.state, at, plain)]).toEqual([[], ['⠋ two…']])
  const done = play(
    [runEvent(3, 'svc.environment.apply', { ...of, status: 'succeeded', durationMs: 900 })],
    writing.state,
  )
  expect(done.lines).toEqual(['• Set up environment “web” r3 in 900 ms'])
  expect(showStatus(done.state, at, plain)).toEqual(['⠋ waiting for a sandbox…'])
  const exit = { status: 'failed', errorCode: 'setup_exit_nonzero', setupExitCode: 1, outputTail: 'one\ntwo\n' }
  expect(play([runEvent(3, 'svc.environment.apply', { ...of, ...exit })], writing.state).lines).toEqual([
    '• Setup of environment “web” r3 failed: the setup script ended with exit code 1 (setup_exit_nonzero)',
    '  one',
    '  two',
  ])
})

test('a long step before the agent begins is shown while it goes on, and has one line when it has ended', () => {
  const of = { stepId: 's', step: 'create_sandbox', title: 'Creating the sandbox' }
  const making = play([runEvent(1, 'svc.workspace.progress', { ...of, status: 'started' })])
  expect([making.lines, showStatus(making.state, at, plain)]).toEqual([[], ['⠋ Creating the sandbox…']])
  const end = (status: string) => [runEvent(2, 'svc.workspace.progress', { ...of, status, durationMs: 2500 })]
  const made = play(end('succeeded'), making.state)
  expect(made.lines).toEqual(['• Creating the sandbox (2.5 s)'])
  expect(showStatus(made.state, at, plain)).toEqual(['⠋ waiting for a sandbox…'])
  expect(play(end('failed'), making.state).lines).toEqual(['• Creating the sandbox failed (2.5 s)'])
  const unpacked = { ...of, stepId: 't', title: 'Unpacking', status: 'succeeded', durationMs: 1500 }
  const besides = play([runEvent(2, 'svc.workspace.progress', unpacked)], making.state)
  expect(showStatus(besides.state, at, plain)).toEqual(['⠋ Creating the sandbox…'])
  const progress = { unit: 'objects', done: 430, total: 1000, bytes: 1_500_000 } as const
  const half = showPreview(making.state, { activities: [], steps: [{ stepId: 's', title: of.title, progress }] })
  const later = { ...at, columns: 99, now: Date.parse(runEvent(1, '', {}).createdAt) + 12_345 }
  expect(showStatus(half, later, plain)).toEqual(['⠋ Creating the sandbox · 12 s · 43% of 1,000 objects, 1.4 MiB…'])
  // A Run that was parked goes on in its middle.
  const again = play([started(1), ...end('succeeded')])
  expect(showStatus(again.state, at, plain)).toEqual(['⠋ working…'])
})

test('a tool call has one line, whichever of its two Events comes first', () => {
  const output = { title: 'ls', output: 'x' }
  expect(play([tool(1, 'a', 'succeeded'), activity(2, 'a', output)]).lines).toEqual(['✓ ls 5 ms', '  x'])
  expect(play([activity(1, 'a', output), tool(2, 'a', 'succeeded')]).lines).toEqual(['✓ ls 5 ms', '  x'])
})

test('a tool call without an activity is shown by its name, before the next line', () => {
  const answer = runEvent(3, 'svc.message.created', { role: 'assistant', text: 'So.' })
  const user = runEvent(4, 'svc.message.created', { role: 'user', text: 'hm' })
  expect(play([tool(1, 'a', 'started'), tool(2, 'a', 'failed'), answer, user]).lines).toEqual(['✗ bash', 'So.'])
  const ended = [tool(2, 'a', 'succeeded'), runEvent(3, 'svc.run.crashed', {})]
  expect(play([tool(1, 'a', 'started'), ...ended]).lines).toEqual(['✓ bash', 'crashed'])
})

test('long output is cut to its last lines', () => {
  const output = Array.from({ length: 15 }, (_, i) => `line ${i + 1}`).join('\n')
  const { lines } = play([activity(1, 'a', { title: 'seq', output })])
  expect(lines.slice(0, 3)).toEqual(['✓ seq 5 ms', '  … 3 more lines above', '  line 4'])
  expect(lines.at(-1)).toBe('  line 15')
})

test.each([
  ['failed', { errorCode: 'shell_exit_nonzero', stopReason: 'error' }, 'failed · shell_exit_nonzero'],
  ['cancelled', { stopReason: 'aborted' }, 'cancelled · aborted'],
  ['crashed', { stopReason: 'engine_unreachable' }, 'crashed · engine_unreachable'],
  [
    'completed',
    { stopReason: 'max_turns', turns: 200, costUsd: 12, costComplete: false },
    'stopped · it reached its limit of 200 steps · at least $12.00',
  ],
])('a Run that ended as %s shows the reason', (status, data, line) => {
  const event = runEvent(1, `svc.run.${status}`, { status, ...data })
  const wayOn = status === 'completed' ? [`  berth run --session ${event.subject.sessionId} Continue.`] : []
  expect(play([event]).lines).toEqual([line, ...wayOn])
  const { lines } = showEvent(initialLiveState, event, (style, text) => `<${style}>${text}`)
  expect(lines[0]).toContain(status === 'completed' ? '<yellow>stopped' : `>${status}`)
})

test('cancelling is shown until the end, even if the Run starts only now', () => {
  const cancelling = showCancelling(initialLiveState)
  const resolved = runEvent(2, 'svc.interaction.resolved', {})
  expect(showStatus(play([started(1), resolved], cancelling).state, at, plain)).toEqual(['⠋ cancelling…'])
  const { state } = play([runEvent(2, 'svc.run.cancelled', {})], cancelling)
  expect(showStatus(showCancelling(state), at, plain)).toEqual([])
})

test('a new attempt drops the running tools of the lost one', () => {
  const { state } = play([started(1), tool(2, 'a', 'started'), started(3, 2)])
  expect(showStatus(state, at, plain)).toEqual(['⠋ working…'])
})

test('many tools and long names take only a few short lines', () => {
  const tools = Array.from({ length: 6 }, (_, i) => tool(i + 2, `id${i}`, 'started', 'x'.repeat(100)))
  const status = showStatus(play([started(1), ...tools]).state, { ...at, columns: 20 }, plain)
  expect(status).toHaveLength(5)
  expect(status.at(-1)).toBe('⠋ and 2 more')
  for (const line of status) expect(line.length).toBeLessThan(20)
})

test('a question of any form is shown with the command that answers it', () => {
  const opened = (request: unknown, kind = 'ask_user') =>
    runEvent(1, 'svc.interaction.opened', { kind, interactionId: 'i1', request })
  const shown = (event: Event) => play([event]).lines
  const { sessionId } = opened(null).subject
  expect(shown(opened({ questions: [{ question: 'Which\nport?' }] }))).toEqual([
    '? Which\\nport?',
    `  berth answer ${sessionId} <text> --to i1`,
  ])
  expect(shown(opened({ prompt: 'Go on?' }))[0]).toBe('? Go on?')
  expect(shown(opened({ approval: { title: 'rm -rf /' } }, 'approval'))).toEqual([
    '? rm -rf /',
    `  berth approve ${sessionId} i1`,
  ])
  expect(shown(opened(null))[0]).toBe('? A question')
})

test('no control characters of an agent reach the terminal', () => {
  const evil = '\u001b]0;owned\u0007\u001b[2J\u009b2J\r'
  const { lines, state } = play([
    started(1),
    tool(2, 'x', 'started', evil),
    activity(3, 'a', { title: evil, output: evil }),
    runEvent(4, 'svc.message.created', { role: 'assistant', text: evil }),
    runEvent(5, 'svc.message.created', { role: 'reasoning', text: evil }),
    runEvent(6, 'svc.interaction.opened', { kind: evil, request: { prompt: evil } }),
    runEvent(7, 'svc.artifact.created', { kind: 'presented_file', name: evil }),
    runEvent(8, 'svc.run.failed', { errorCode: evil }),
  ])
  const status = showStatus(play([tool(9, 'y', 'started', evil)]).state, at, plain)
  // The call that was under way failed with the Run.
  expect(lines).toHaveLength(9)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
  for (const line of [...lines, ...status]) expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
  expect(state.stage).toBe('ended')
})

test('the memory of tools is bounded, and every one that has ended is shown', () => {
  const calls = Array.from({ length: 500 }, (_, i) => [
    tool(2 * i + 1, `id${i}`, 'started'),
    tool(2 * i + 2, `id${i}`, 'succeeded'),
  ])
  const { state, lines } = play(calls.flat())
  expect(state.held.size + lines.length).toBe(500)
  expect(state.held.size).toBeLessThanOrEqual(64)
  expect(JSON.stringify(state.transcript).length).toBeLessThan(64 * 1024)
})

test('what the agent is saying is shown until the log has it, and not again by a late preview', () => {
  const piece = (messageId: string, text: string, role: 'assistant' | 'reasoning' = 'assistant') =>
    ({ message: { messageId, role, text }, activities: [] }) as const
  const { state } = play([started(1)])
  const half = showPreview(state, piece('m', 'The tests\n\u001b[2Jpa'))
  expect(showStatus(half, at, plain)).toEqual(['The tests', '\u241b[2Jpa', '⠋ working…'])
  const whole = play([runEvent(2, 'svc.message.created', { messageId: 'm', role: 'assistant', text: 'Pass.' })], half)
  expect([whole.lines, showStatus(whole.state, at, plain)]).toEqual([['Pass.'], ['⠋ working…']])
  expect(showStatus(showPreview(whole.state, piece('m', 'Pass.')), at, plain)).toEqual(['⠋ working…'])
  const dim: Paint = (style, text) => `${style}:${text}`
  expect(showStatus(showPreview(whole.state, piece('n', 'Hm', 'reasoning')), at, dim)[0]).toBe('dim:Hm')
  expect(showStatus(showPreview(half, { activities: [] }), at, plain)).toEqual(['⠋ working…'])
})

test('of a long saying the end is shown, in lines that fit the terminal', () => {
  const message = { messageId: 'm', role: 'assistant' as const, text: `${'a'.repeat(100)}\n${'b'.repeat(10_000)}` }
  const lines = showStatus(showPreview(play([started(1)]).state, { message, activities: [] }), at, plain)
  expect(lines).toHaveLength(9)
  expect(lines.slice(0, -1).every(line => line.length <= 39 && line.startsWith('b'))).toBe(true)
})

const forked = { sourceSessionId: 's1', sourceRunId: 'r1', createdBy: { kind: 'person', id: 'p1' } }
const rejected = { answer: 1, issues: [{ path: ['files', 0], message: 'must be text' }], retried: true }

test.each([
  ['svc.turn.steered', { turnId: 't', status: 'taken' }, ['• The agent has the message']],
  [
    'svc.turn.steered',
    { turnId: 't', status: 'missed' },
    ['• The agent stopped before it read a message. Send it again if it still matters'],
  ],
  [
    'svc.turn.steered',
    { turnId: 't', status: 'missed', nextRunId: 'r' },
    ['• The agent finished before it read a message, and works on it next'],
  ],
  ['svc.session.forked', forked, ['• Forked from another Session, with its files and its conversation up to there']],
  [
    'svc.output.rejected',
    rejected,
    ['• The answer is not the requested JSON; the agent tries once more', '  files.0: must be text'],
  ],
  ['svc.output.rejected', { retried: false, issues: 7 }, ['• The answer is not the requested JSON']],
  [
    'svc.context.compacted',
    { tokensBefore: 120_000, tokensAfter: 9_000 },
    ['• Conversation summarized: 120,000 to 9,000 tokens'],
  ],
  ['svc.conversation.cleared', {}, ['• Conversation cleared']],
  [
    'svc.conversation.cleared',
    { reason: 'checkpoint_missing' },
    ['• Session reset: earlier work could not be restored'],
  ],
  [
    'svc.timeline.truncated',
    { droppedEvents: 1200, reason: 'budget' },
    ['• 1,200 Events are missing from the log', '  budget'],
  ],
  ['svc.delegation.started', { delegationId: 'd', task: 'Look\nhere' }, ['• Sub-agent: Look']],
  [
    'svc.delegation.completed',
    { status: 'timed_out', summary: 'one\ntwo' },
    ['• Sub-agent timed out', '  one', '  two'],
  ],
  [
    'svc.artifact.omitted',
    { name: 'big.bin', sizeBytes: 2048, reason: 'too large' },
    ['• big.bin (2.0 KiB) was not kept', '  too large'],
  ],
  [
    'svc.publication.created',
    { delivery: 'pull_request', result: { pullRequest: { url: 'https://g/1' } } },
    ['• Pull request opened https://g/1'],
  ],
  ['svc.publication.created', { delivery: 'direct_branch', result: null }, ['• Pushed to the branch']],
  [
    'svc.publication.created',
    { delivery: 'pull_request', result: { delivery: 'direct_branch' } },
    ['• Pushed to the branch'],
  ],
  ['svc.publication.failed', { errorCode: 'push_rejected' }, ['• Publishing failed: push rejected']],
  ['svc.publication.merge_succeeded', { mergedCommitSha: '0123456789' }, ['• Merged as 01234567']],
  ['svc.publication.merge_failed', {}, ['• Merging failed: unknown error']],
  ['svc.workspace.expired', {}, ['• Sandbox paused']],
])('%s has a notice', (type, data, lines) => {
  expect(play([runEvent(1, type, data)]).lines).toEqual(lines)
})

test('every type of Event that the contract knows is shown, or is a step whose line another Event has', () => {
  const silent = ['svc.run.started', 'svc.run.progress', 'svc.environment.output', 'svc.verification.started']
  // The command that shows a Run has told how to answer; `berth attach` says who did.
  const closed = ['svc.interaction.resolved', 'svc.interaction.expired']
  // Only a presented file has a line: the others repeat a message or a notice.
  const data = { role: 'assistant', text: 'x', status: 'failed', name: 'x', kind: 'presented_file' }
  // They belong to the end of their Run, which was shown before, and to the status below the text.
  const changed = ['svc.revision.created', 'svc.plan.updated', 'svc.background.updated']
  const hidden = eventTypes.filter(type => play([runEvent(1, type, data)]).lines.length === 0)
  expect(hidden.sort()).toEqual([...silent, ...closed, ...changed].sort())
})

test('the steps around the current one stand below the text until all are done', () => {
  const plan = (done: number) =>
    runEvent(done + 1, 'svc.plan.updated', {
      entries: Array.from({ length: 8 }, (_, n) => ({
        content: `Step\u001b ${n}`,
        status: n < done ? 'completed' : n === done ? 'in_progress' : 'pending',
      })),
    })
  const begun = play([plan(0)])
  expect(begun.lines).toEqual([])
  const shown = (...steps: string[]) => [...steps.map(step => `  ${step}`), '  0 of 8 done']
  expect(showStatus(begun.state, at, plain).slice(0, -1)).toEqual(
    shown('▸ Step␛ 0', '○ Step␛ 1', '○ Step␛ 2', '○ Step␛ 3', '○ Step␛ 4', '○ Step␛ 5'),
  )
  const middle = play([plan(4)], begun.state)
  expect(showStatus(middle.state, at, plain).slice(0, 3)).toEqual(['  ✓ Step␛ 2', '  ✓ Step␛ 3', '  ▸ Step␛ 4'])
  expect(showStatus(play([plan(8)], middle.state).state, at, plain)).toEqual(['⠋ waiting for a sandbox…'])
})

test('commands that run in the background stand below the text', () => {
  const command = (id: string, status: string) => ({ id, command: `npm run ${id}`, status, startedAt: '' })
  const { state, lines } = play([
    runEvent(1, 'svc.background.updated', { commands: [command('b1', 'exited'), command('b2', 'running')] }),
  ])
  expect([lines, showStatus(state, at, plain)[0]]).toEqual([[], '  & npm run b2'])
})

test('the changes that a Run left follow its end, with the command that shows them', () => {
  const changes = { runId: runEvent(1, 'svc.run.completed', {}).subject.runId, files: 2, additions: 3, deletions: 1 }
  const { lines } = play([runEvent(1, 'svc.run.completed', {}), runEvent(2, 'svc.revision.created', changes)])
  expect(lines).toEqual([
    expect.stringContaining('completed'),
    '• 2 files +3 −1',
    expect.stringContaining('  berth review '),
  ])
})

test('a notice passes no control characters on, and is short however long its detail', () => {
  const evil = '\u001b[2J'
  const detail = Array.from({ length: 20 }, () => evil).join('\n')
  const { lines } = play([
    runEvent(1, 'svc.artifact.omitted', { name: evil, reason: detail }),
    runEvent(2, 'svc.session.forked', { sourceSessionId: evil }),
    runEvent(3, 'svc.output.rejected', { issues: [{ path: [evil], message: evil }] }),
  ])
  expect(lines).toHaveLength(1 + 13 + 1 + 2)
  expect(lines[13]).toBe('  … 8 more')
  expect(lines.join('')).not.toContain('\u001b')
})
