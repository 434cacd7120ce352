import { eventTypes } from '@berth/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Event } from '../src/index.ts'
import {
  backgroundLabel,
  changesOf,
  emptyTranscript,
  extendAgentState,
  extendTranscript,
  planLabel,
  type Row,
} from '../src/transcript/index.ts'

const runId = '00000000-0000-4000-8000-000000000001'

type Fact = readonly [type: string, data?: object, run?: string | null]

/** Returns Events with ascending sequences, a second apart. */
function log(...facts: readonly Fact[]): Event[] {
  return facts.map(([type, data = {}, run = runId], at) => ({
    id: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
    type,
    createdAt: new Date(1_000 * at).toISOString(),
    sequence: at + 1,
    subject: { sessionId: '00000000-0000-4000-8000-0000000000aa', ...(run === null ? {} : { runId: run }) },
    data: { ...data },
  }))
}

const started = ['svc.run.started', { status: 'running', attempt: 1 }] as const
const message = (text: string, role = 'assistant') => ['svc.message.created', { messageId: text, role, text }] as const
const begin = (id: string) =>
  ['svc.run.progress', { activityId: id, category: 'tool', name: 'bash', status: 'started', occurredAt: '' }] as const
const done = (id: string, more: object = {}) =>
  [
    'svc.activity.completed',
    { activityId: id, name: 'bash', kind: 'execute', title: `ls ${id}`, status: 'succeeded', durationMs: 5, ...more },
  ] as const
const ended = (status: string, more: object = {}) => [`svc.run.${status}`, { status, ...more }] as const
const kinds = (rows: readonly Row[]) => rows.map(({ kind }) => kind)
const stateOf = (...facts: readonly Fact[]) => log(...facts).reduce(extendAgentState, { plan: null, background: null })
const rowsOf = (...facts: readonly Fact[]) => extendTranscript(emptyTranscript, log(...facts)).rows

describe('messages', () => {
  test('of people ask for the Session again, whose Run they may have begun', () => {
    expect(extendTranscript(emptyTranscript, log(ended('failed'), message('Go on', 'user'))).changedAt).toBe(2)
  })

  test('of people and of the agent are rows, and reasoning is a step', () => {
    expect(kinds(rowsOf(message('Fix it', 'user'), started, message('Hm', 'reasoning'), message('Done')))).toEqual([
      'prompt',
      'steps',
      'reply',
    ])
  })

  test('say that they were cut', () => {
    const [row] = rowsOf(['svc.message.created', { messageId: 'a', role: 'assistant', text: 'x', truncated: true }])
    expect(row).toMatchObject({ kind: 'reply', truncated: true })
  })
})

test('the to-do list is the last that was told, until the conversation is cleared', () => {
  const reported = (...entries: object[]) => ['svc.plan.updated', { entries }] as const
  const [inspect, mend] = ['completed', 'pending'].map(status => ({ content: status, status }))
  const planOf = (...facts: readonly Fact[]) => stateOf(...facts).plan
  expect(planOf(started)).toBeNull()
  expect(planOf(reported({ content: 'x', status: 'pending' }), reported(inspect ?? {}, mend ?? {}))).toEqual([
    inspect,
    mend,
  ])
  expect(planOf(reported(inspect ?? {}), ['svc.conversation.cleared'])).toEqual([])
  expect(rowsOf(reported(inspect ?? {}))).toEqual([])
})

test('the commands in the background are the last that were told, until the sandbox is gone', () => {
  const commands = [{ id: 'b1', command: 'npm start', status: 'running', startedAt: '' }]
  const reported = ['svc.background.updated', { commands }] as const
  const backgroundOf = (...facts: readonly Fact[]) => stateOf(...facts).background
  expect(backgroundOf(started)).toBeNull()
  expect(backgroundOf(reported)).toEqual(commands)
  expect(backgroundOf(reported, ['svc.workspace.expired'])).toEqual([])
  expect(['running', 'stopped', 'exited'].map(status => backgroundLabel({ status }))).toEqual([
    'running',
    'stopped',
    'ended by a signal',
  ])
  expect(backgroundLabel({ status: 'exited', exitCode: 0 })).toBe('exit code 0')
})

test('a to-do list is said in one line', () => {
  const steps = (...statuses: string[]) => statuses.map((status, n) => ({ content: `step ${n}`, status }))
  expect(planLabel(steps('completed', 'pending', 'in_progress'))).toBe('1 of 3 done: step 2')
  expect(planLabel(steps('completed', 'pending'))).toBe('1 of 2 done: step 1')
  expect(planLabel(steps('completed', 'completed'))).toBe('2 of 2 done')
})

describe('a revision', () => {
  const counts = { revision: 'a'.repeat(64), files: 4, additions: 66, deletions: 0 }
  const created = ['svc.revision.created', { ...counts, runId }, null] as const

  test('belongs to the end of its Run, whatever came after that', () => {
    const { rows, changedAt } = extendTranscript(
      emptyTranscript,
      log(started, ended('completed'), message('Go on', 'user'), created),
    )
    expect([kinds(rows), rows[0], changedAt]).toMatchObject([['end', 'prompt'], { changes: counts }, 4])
    expect(
      rowsOf(ended('completed'), ['svc.revision.created', { ...counts, runId: 'other' }, null])[0],
    ).not.toHaveProperty('changes')
  })

  test('that could not be stored says why', () => {
    const why = { kind: 'revision', name: 'the changes', sizeBytes: 0, reason: 'it took too long' }
    const text = 'The changes of the Run were not stored for review'
    expect(rowsOf(['svc.artifact.omitted', why, null])).toMatchObject([{ text, detail: 'it took too long' }])
  })
})

describe('sub-agents', () => {
  const beginOf = (id: string, delegationId: string) => [begin(id)[0], { ...begin(id)[1], delegationId }] as const
  const over = (delegationId: string, status: string) =>
    ['svc.delegation.completed', { delegationId, status, summary: 'It works.' }] as const

  test('have a group each, although they work at the same time', () => {
    const rows = rowsOf(
      ...[started, begin('ask'), beginOf('a1', 'a'), beginOf('b1', 'b'), done('a1'), beginOf('a2', 'a'), done('b1')],
      ...[over('b', 'failed'), done('a2'), over('a', 'completed'), done('ask'), done('next')],
    )
    const lane = (id: string, outcome: string) => ({ id, task: '', outcome, summary: 'It works.' })
    expect(rows).toMatchObject([
      { steps: [{ id: 'ask', status: 'succeeded' }] },
      { lane: lane('a', 'completed'), steps: [{ id: 'a1' }, { id: 'a2', status: 'succeeded' }] },
      { lane: lane('b', 'failed'), steps: [{ id: 'b1', status: 'succeeded' }] },
      { steps: [{ id: 'next' }] },
    ])
    expect(rows.map(row => 'lane' in row)).toEqual([false, true, true, false])
  })

  test('are still at work until it is told', () => {
    expect(rowsOf(started, beginOf('a1', 'a'))).toMatchObject([{ lane: { id: 'a', outcome: null, summary: '' } }])
  })

  const given: Fact = ['svc.delegation.started', { delegationId: 'a', task: 'Count the files' }]

  test('show their task from the start on, and stay in one group, whatever comes between', () => {
    const rows = rowsOf(started, begin('ask'), given, beginOf('a1', 'a'), message('Meanwhile'), beginOf('a2', 'a'))
    expect(rows.slice(1)).toMatchObject([
      { lane: { id: 'a', task: 'Count the files', outcome: null }, steps: [{ id: 'a1' }, { id: 'a2' }] },
      { kind: 'reply' },
    ])
    expect(rowsOf(started, given, over('a', 'completed'))).toMatchObject([
      { lane: { task: 'Count the files', outcome: 'completed', summary: 'It works.' }, steps: [] },
    ])
  })

  test('are over when their Run is', () => {
    const rows = rowsOf(started, given, beginOf('a1', 'a'), ended('crashed'))
    expect(rows[0]).toMatchObject({ lane: { outcome: 'cancelled' }, steps: [{ status: 'failed' }] })
  })
})

describe('tool calls', () => {
  test('that follow one another are one row, which a message ends', () => {
    const rows = rowsOf(started, done('a'), message('Think', 'reasoning'), done('b'), message('So'), done('c'))
    expect(kinds(rows)).toEqual(['steps', 'reply', 'steps'])
    expect(rows[0]).toMatchObject({ steps: [{ id: 'a' }, { kind: 'thought' }, { id: 'b' }] })
  })

  test('run under their name until their end brings the rest', () => {
    const events = log(started, begin('a'), done('a', { output: 'ok', input: { command: 'ls' } }))
    const before = extendTranscript(emptyTranscript, events.slice(0, 2))
    expect(before.rows).toMatchObject([{ steps: [{ status: 'running', title: 'bash', durationMs: null }] }])
    const after = extendTranscript(before, events.slice(2))
    expect(after.rows).toMatchObject([{ steps: [{ status: 'succeeded', title: 'ls a', output: 'ok' }] }])
    expect(before.rows).toMatchObject([{ steps: [{ status: 'running' }] }])
  })

  test('keep their place if they end in another order, even after a message', () => {
    const rows = rowsOf(
      started,
      begin('a'),
      begin('b'),
      message('Meanwhile'),
      done('b'),
      done('a', { status: 'failed' }),
    )
    expect(kinds(rows)).toEqual(['steps', 'reply'])
    expect(rows[0]).toMatchObject({
      steps: [
        { id: 'a', status: 'failed' },
        { id: 'b', status: 'succeeded' },
      ],
    })
  })

  const queued = ([type, data = {}]: Fact): Fact => [type, data, '00000000-0000-4000-8000-000000000002']
  test.each<[string, Fact[]]>([
    ['nothing', []],
    ['a message to their Run', [message('Rather b', 'user')]],
    ['a Run that was queued and cancelled', [queued(message('Next', 'user')), queued(ended('cancelled'))]],
  ])('without an end are over when their Run is, with %s in between', (_, between) => {
    const [row] = rowsOf(started, begin('a'), ...between, ended('crashed'))
    expect(row).toMatchObject({ steps: [{ status: 'failed' }] })
  })

  test('of two Runs are never in one row', () => {
    const other = '00000000-0000-4000-8000-000000000002'
    const [type, data] = done('b')
    expect(kinds(rowsOf(done('a'), [type, data, other]))).toEqual(['steps', 'steps'])
  })

  test.each([
    ['edit', true],
    ['execute', true],
    ['other', true],
    ['read', false],
    ['search', false],
  ])('of kind %s ask for another review: %s', (kind, asks) => {
    expect(extendTranscript(emptyTranscript, log(started, done('a', { kind }))).editedAt).toBe(asks ? 2 : 0)
  })
})

describe('a Run', () => {
  test.each(['completed', 'failed', 'cancelled', 'crashed'])('that %s has a row with its time and cost', status => {
    const view = extendTranscript(
      emptyTranscript,
      log(started, message('x'), ended(status, { costUsd: 0.25, costComplete: false, turns: 3 })),
    )
    expect(view.rows.at(-1)).toMatchObject({ kind: 'end', outcome: status, durationMs: 2_000, costUsd: 0.25, turns: 3 })
    expect(view).toMatchObject({ activeRun: null, changedAt: 3, editedAt: 3 })
  })

  test('is active from its start, through every attempt', () => {
    const view = extendTranscript(emptyTranscript, log(started, ['svc.run.started', { status: 'running', attempt: 2 }]))
    expect(view.activeRun).toEqual({ id: runId, startedAt: new Date(0).toISOString(), attempt: 2 })
    expect(view.rows).toMatchObject([{ kind: 'notice', tone: 'warning' }])
  })

  test('that begins another attempt has no call of the lost one under way', () => {
    expect(rowsOf(started, begin('a'), ['svc.run.started', { status: 'running', attempt: 2 }])[0]).toMatchObject({
      steps: [{ status: 'failed' }],
    })
  })

  test('that was asked for JSON has its result', () => {
    expect(rowsOf(ended('completed', { result: { output: null } }))[0]).toMatchObject({ output: null })
    expect(rowsOf(ended('completed', { result: 'odd' }))[0]).not.toHaveProperty('output')
  })

  test('whose start is not loaded has no duration', () => {
    expect(rowsOf(ended('completed'))[0]).toMatchObject({ durationMs: null })
  })
})

describe('an Interaction', () => {
  const opened = [
    'svc.interaction.opened',
    {
      interactionId: 'i',
      kind: 'approval',
      status: 'open',
      request: { approval: { toolName: 'bash', title: 'rm x' } },
    },
  ] as const

  test('is one row that says how it ended, and by whom', () => {
    const decidedBy = { kind: 'person', id: 'p' }
    const view = extendTranscript(
      emptyTranscript,
      log(opened, message('x'), [
        'svc.interaction.resolved',
        { interactionId: 'i', kind: 'approval', status: 'resolved', resolution: 'approved', decidedBy },
      ]),
    )
    expect(view.rows[0]).toMatchObject({
      status: 'resolved',
      resolution: 'approved',
      subject: 'rm x',
      key: '1',
      decidedBy,
    })
    expect(view).toMatchObject({ interactionAt: 3, changedAt: 3 })
  })

  test('that was decided without being open has a row too', () => {
    const [, data] = opened
    const row = rowsOf(['svc.interaction.resolved', { ...data, status: 'resolved', resolution: 'project_allowed' }])
    expect(row).toMatchObject([{ kind: 'interaction', status: 'resolved', subject: 'rm x' }])
  })

  test.each([
    [{ kind: 'ask_user', request: { questions: [{ question: 'Which?' }] } }, 'Which?'],
    [{ kind: 'ask_user', request: { questions: 'odd' } }, 'A question'],
    [{ kind: 'exit_plan_mode', request: { prompt: 'Go on?' } }, 'Go on?'],
    [{ kind: 'exit_plan_mode' }, 'A plan'],
    [{ kind: 'approval', request: { approval: null } }, 'An action'],
  ])('names what is asked: %j', (data, subject) => {
    const row = rowsOf(['svc.interaction.opened', { interactionId: 'i', status: 'open', ...data }])
    expect(row).toMatchObject([{ subject }])
  })
})

test.each([
  [
    'svc.environment.apply',
    { name: 'web', revision: 3, status: 'failed', setupExitCode: 2, outputTail: 'no' },
    /failed/,
  ],
  [
    'svc.artifact.omitted',
    { kind: 'presented_file', name: 'big.bin', sizeBytes: 2048, reason: 'Too big.' },
    /2\.0 KiB/,
  ],
  ['svc.publication.created', { publicationId: 'p', delivery: 'pull_request', status: 'succeeded' }, /Pull request/],
  [
    'svc.publication.created',
    { publicationId: 'p', delivery: 'pull_request', status: 'succeeded', result: { delivery: 'direct_branch' } },
    /Pushed to the branch/,
  ],
  ['svc.publication.failed', { publicationId: 'p', status: 'failed', errorCode: 'review_changed' }, /review changed/],
  ['svc.publication.merge_succeeded', { publicationId: 'p', mergedCommitSha: 'a'.repeat(40) }, /Merged as aaaaaaaa$/],
  ['svc.publication.merge_failed', { publicationId: 'p', errorCode: 'head_moved' }, /head moved/],
  ['svc.context.compacted', { tokensBefore: 90_000, tokensAfter: 4_000 }, /90,000 to 4,000/],
  ['svc.conversation.cleared', {}, /cleared/],
  ['svc.session.forked', { sourceSessionId: 's', sourceRunId: 'r' }, /Forked/],
  ['svc.turn.steered', { turnId: 't', status: 'taken' }, /has the message/],
  ['svc.turn.steered', { turnId: 't', status: 'missed' }, /Send it again/],
  ['svc.output.rejected', { retried: true, issues: [{ path: ['a', 0], message: 'no' }] }, /tries once more/],
  ['svc.turn.steered', { turnId: 't', status: 'missed', nextRunId: 'r' }, /works on it next/],
  ['svc.timeline.truncated', { droppedEvents: 12, reason: 'Over budget.' }, /12 Events/],
  ['svc.delegation.completed', { delegationId: 'd', status: 'succeeded', summary: 'It works.' }, /Sub-agent/],
  ['svc.workspace.progress', { title: 'Creating the sandbox', status: 'started' }, /^Creating the sandbox$/],
  ['svc.workspace.progress', { title: 'Creating it', status: 'failed', durationMs: 3000 }, /^Creating it failed \(3/],
  ['svc.workspace.expired', { leaseId: 'l', expiredAt: '' }, /^Sandbox paused$/],
  [
    'svc.egress.refused',
    { host: 'a.example.org', port: 443, reason: 'policy', count: 1 },
    /^blocked: a\.example\.org$/,
  ],
  ['svc.egress.refused', { reason: 'further', count: 1200 }, /^1,200 further connections were blocked$/],
])('%s is a notice', (type, data, text) => {
  expect(rowsOf([type, data])).toMatchObject([{ kind: 'notice', text: expect.stringMatching(text) }])
})

test('the refusals of a host are one line of their Run, where they began', () => {
  const blocked = (host: string, count: number, reason = 'denied') =>
    ['svc.egress.refused', { host, port: 443, reason, count }] as const
  const rows = rowsOf(
    blocked('a.example.org', 2),
    message('On it.'),
    blocked('b.example.org', 1, 'policy'),
    blocked('a.example.org', 3),
    [...blocked('a.example.org', 1), '00000000-0000-4000-8000-000000000002'],
  )
  expect(rows).toMatchObject([
    { text: 'blocked: a.example.org (5 times)', blocked: { host: 'a.example.org', count: 5, allowable: true } },
    { kind: 'reply' },
    { text: 'blocked: b.example.org', blocked: { host: 'b.example.org', count: 1, allowable: false } },
    { text: 'blocked: a.example.org', blocked: { count: 1 } },
  ])
})

test('a sandbox that goes and comes again is one line, until the agent goes on', () => {
  const paused: Fact = ['svc.workspace.expired', { leaseId: 'l', expiredAt: '' }, null]
  const title = 'Workspace restored as run r left it'
  const resumed: Fact = ['svc.activity.completed', { activityId: 'x', name: 'restore', kind: 'other', title }, null]
  const both = { about: 'sandbox', text: 'Sandbox paused and resumed' }
  expect(rowsOf(paused, message('Go on', 'user'), resumed)).toMatchObject([
    { ...both, detail: title },
    { kind: 'prompt' },
  ])
  expect(rowsOf(paused, resumed, paused, resumed)).toMatchObject([{ ...both, detail: `${title}\n${title}` }])
  expect(rowsOf(paused, resumed, paused)).toMatchObject([{ text: 'Sandbox paused' }])
  expect(rowsOf(paused, message('Done'), resumed)).toMatchObject([{}, {}, { text: 'Sandbox resumed', detail: title }])
  // An agent may call its own tool so.
  expect(rowsOf(done('a', { name: 'restore' }))).toMatchObject([{ kind: 'steps' }])
})

test('sizes in the reason of an omission are read by people', () => {
  const reason = 'over the cap of 33554432 bytes for a presented file'
  const omitted = { kind: 'presented_file', name: 'big.bin', sizeBytes: 34_000_000, reason }
  expect(rowsOf(['svc.artifact.omitted', omitted])).toMatchObject([
    { detail: 'over the cap of 32.0 MiB for a presented file' },
  ])
})

const step = (stepId: string, status = 'started') =>
  ['svc.workspace.progress', { stepId, title: stepId.replace('2', ''), status, durationMs: 12_000 }] as const
const apply = (status: string) => ['svc.environment.apply', { name: 'web', leaseId: 'l', revision: 1, status }] as const
test.each<[string, Fact[], string[]]>([
  ['one step', [step('a'), step('a', 'succeeded')], ['1 a (12.0 s)']],
  ['two at once', [step('a'), step('b'), step('a', 'succeeded'), step('b', 'failed')], ['1 a (12.0 s)', '2 b failed']],
  ['one in another', [step('a'), step('b'), step('b', 'failed'), step('a', 'failed')], ['1 a failed', '2 b failed']],
  ['a setup and a step', [apply('started'), step('a'), apply('succeeded')], ['1 Set up', '2 a']],
  ['a step whose start is not loaded', [['svc.conversation.cleared'], step('a', 'failed')], ['1 Conv', '2 a failed']],
  ['a step that was told twice', [step('a', 'failed'), step('a', 'failed')], ['1 a failed', '2 a failed']],
  [
    'a step that another worker begins again',
    [step('a'), step('a2'), step('a2', 'succeeded')],
    ['1 a (interrupted)', '2 a (12.0 s)'],
  ],
  ['a step that nobody ends before the agent begins', [step('a'), step('b'), started], ['1 a (int', '2 b (int']],
  ['a step that nobody ends before its Run', [step('a'), ended('crashed')], ['1 a (interrupted)', '2 end']],
])('the end of a long step takes the place of its own start: %s', (_, facts, texts) => {
  const rows = rowsOf(...facts).map(row => `${row.key} ${row.kind === 'notice' ? row.text : row.kind}`)
  expect(rows).toEqual(texts.map(text => expect.stringMatching(`^${RegExp.escape(text)}`)))
})

test('only files that the agent left on purpose are shown', () => {
  const artifact = (kind: string) =>
    [
      'svc.artifact.created',
      { artifactId: kind, kind, name: 'a.md', mediaType: 'text/markdown', sizeBytes: 1 },
    ] as const
  expect(rowsOf(artifact('run_result'), artifact('presented_file'))).toMatchObject([{ artifactId: 'presented_file' }])
})

test('links of deliveries that are no web links are dropped', () => {
  const result = { pullRequest: { number: 7, url: 'javascript:alert(1)' } }
  const [row] = rowsOf(['svc.publication.created', { publicationId: 'p', delivery: 'pull_request', result }])
  expect(row).not.toHaveProperty('link')
})

test('an unknown type changes nothing but the place in the log', () => {
  expect(extendTranscript(emptyTranscript, log(['svc.new.thing', { x: 1 }]))).toEqual({
    ...emptyTranscript,
    first: 1,
    last: 1,
  })
})

test('data of any kind can be folded', () => {
  const odd: Record<string, unknown>[] = [{}, { text: 7, role: {}, request: 'x', result: 3, issues: 'x', name: null }]
  for (const type of eventTypes)
    for (const data of odd) expect(extendTranscript(emptyTranscript, log([type, data])).last).toBe(1)
})

test('every type of the catalog can be folded with the data that it must have', () => {
  for (const type of eventTypes) {
    const data = {
      status: 'started',
      name: 'x',
      kind: 'x',
      request: {},
      tokensBefore: 1,
      tokensAfter: 1,
      droppedEvents: 1,
    }
    expect(
      extendTranscript(emptyTranscript, log([type, { ...data, sizeBytes: 1, reason: 'x', revision: 1 }])).last,
    ).toBe(1)
  }
})

const someEvents = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        started,
        message('a'),
        message('b', 'user'),
        message('c', 'reasoning'),
        ended('completed', { costUsd: 1 }),
      ),
      fc.constantFrom('1', '2', '3').map(begin),
      fc.constantFrom('1', '2', '3').map(id => done(id)),
    ),
    { maxLength: 60 },
  )
  .map(facts => log(...facts))

test('however a log is cut into batches, and whatever comes twice, the view is the same', () => {
  fc.assert(
    fc.property(someEvents, fc.array(fc.nat(60), { maxLength: 5 }), (events, cuts) => {
      const places = [0, ...cuts.map(cut => Math.min(cut, events.length)).sort((a, b) => a - b), events.length]
      const batches = places.map((place, at) => events.slice(Math.max(0, place - 3), places[at + 1] ?? events.length))
      const view = batches.reduce((view, batch) => extendTranscript(view, batch), emptyTranscript)
      expect(view).toEqual(extendTranscript(emptyTranscript, events))
      expect(new Set(view.rows.map(({ key }) => key)).size).toBe(view.rows.length)
    }),
  )
})

describe('a bounded transcript', () => {
  test('holds no more than so many rows and steps', () => {
    fc.assert(
      fc.property(someEvents, fc.integer({ min: 1, max: 20 }), (events, keep) => {
        const { rows } = events.reduce((view, event) => extendTranscript(view, [event], keep), emptyTranscript)
        const size = rows.reduce((sum, row) => sum + (row.kind === 'steps' ? row.steps.length : 1), 0)
        expect(size).toBeLessThanOrEqual(keep)
      }),
    )
  })

  test('tells of every Event once, however little it holds', () => {
    const events = log(
      started,
      message('Hm', 'reasoning'),
      begin('a'),
      done('a'),
      message('So'),
      begin('b'),
      done('b'),
      message('x'),
    )
    let view = emptyTranscript
    const changes = events.flatMap(event => {
      const before = view
      view = extendTranscript(before, [event], 2)
      return changesOf(before, view).map(({ row, steps }) => [row.kind, ...steps.map(({ id }) => id)].join(' '))
    })
    expect(changes).toEqual(['steps Hm', 'steps a', 'steps a', 'reply', 'steps b', 'steps b', 'reply'])
  })
})

test('the changes of a batch are the rows and steps that differ', () => {
  const events = log(started, begin('a'), begin('b'), message('So'), done('a'))
  const before = extendTranscript(emptyTranscript, events.slice(0, 4))
  expect(changesOf(before, before)).toEqual([])
  expect(changesOf(before, extendTranscript(before, events.slice(4)))).toMatchObject([{ steps: [{ id: 'a' }] }])
})
