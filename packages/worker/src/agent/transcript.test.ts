import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { Redactor } from '@berth/platform/kit/redactor.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readUpdate, type Update } from './acp-message.ts'
import { Transcript } from './transcript.ts'

const of = { runId: 'run', attempt: 1, turnSequence: 0 }

/** Updates are ten bytes and one second apart. */
const offsetOf = (index: number) => index * 10
const timeOf = (index: number) => new Date(index * 1000)

/** Returns all events of these updates, including those at the agent's end. */
function fold(updates: readonly Update[]): EventDraft[] {
  const transcript = new Transcript(of)
  const drafts = updates.flatMap((update, index) => transcript.apply(update, offsetOf(index), timeOf(index)))
  return [...drafts, ...transcript.close(timeOf(updates.length))]
}

const message = (text: string, messageId?: string): Update => ({
  kind: 'text',
  role: 'assistant',
  text,
  ...(messageId !== undefined && { messageId }),
})
const think = (text: string): Update => ({ kind: 'text', role: 'reasoning', text })
const call = (id: string, fields: object = {}) =>
  readUpdate({ update: { sessionUpdate: 'tool_call', toolCallId: id, title: id, kind: 'execute', ...fields } })
const update = (id: string, fields: object) =>
  readUpdate({ update: { sessionUpdate: 'tool_call_update', toolCallId: id, ...fields } })
const text = (content: string) => ({ content: [{ type: 'content', content: { type: 'text', text: content } }] })

/** Sums up an event in a few words. */
function brief({ type, data }: EventDraft): string {
  const what = data['text'] ?? data['output'] ?? data['name']
  return [type.replace('svc.', ''), data['role'] ?? data['status'], what].join(' ')
}
const briefly = (updates: readonly Update[]) => fold(updates).map(brief)

describe('messages', () => {
  test('join the chunks of one role, and are told at their end', () => {
    expect(briefly([think('a'), think('b'), message('c'), message('d'), think('e')])).toEqual([
      'message.created reasoning ab',
      'message.created assistant cd',
      'message.created reasoning e',
    ])
  })

  test('end at a new message id or a tool call', () => {
    expect(briefly([message('a', '1'), message('b', '2'), call('c'), message('d', '2')])).toEqual([
      'message.created assistant a',
      'message.created assistant b',
      'run.progress started execute',
      'message.created assistant d',
      'run.progress failed execute',
      'activity.completed failed execute',
    ])
  })

  test('are not told if they are empty', () => {
    expect(fold([message(''), think(''), message('')])).toEqual([])
  })

  test('are cut at 64 KiB between two characters, and say so', () => {
    const [event] = fold(Array.from({ length: 30_000 }, () => message('🚢')))
    expect(event?.data).toMatchObject({ text: '🚢'.repeat(16_384), truncated: true })
    const [whole] = fold([message('x'.repeat(65_536))])
    expect(whole?.data).not.toHaveProperty('truncated')
  })
})

describe('tool calls', () => {
  test('tell their beginning, their end and their effect', () => {
    const events = fold([
      call('c', { rawInput: { command: 'ls' } }),
      update('c', { status: 'completed', ...text('a\nb') }),
    ])
    expect(events.map(brief)).toEqual([
      'run.progress started execute',
      'run.progress succeeded execute',
      'activity.completed succeeded a\nb',
    ])
    const [started, , completed] = events
    expect(started?.data).toMatchObject({ category: 'tool', occurredAt: '1970-01-01T00:00:00.000Z' })
    expect(completed?.data).toMatchObject({ input: { command: 'ls' }, title: 'c', durationMs: 1000 })
    expect(new Set(events.map(event => event.data['activityId'])).size).toBe(1)
  })

  const printed = (data: string, name = 'terminal_output_delta') => ({ _meta: { [name]: { data, terminal_id: 'c' } } })

  test.each([
    ['the output of their command, piece by piece', [printed('a\n'), printed('b\0\n')], 'a\nb\ufffd\n'],
    ['that output under its older name', [printed('a', 'terminal_output')], 'a'],
    ['the shown text rather than the printed output', [printed('a'), text('shown')], 'shown'],
    ['the printed output rather than their result', [printed('a'), { rawOutput: { exit_code: 0 } }], 'a'],
    ['their result', [{ rawOutput: 'done' }], 'done'],
    ['the output of their result', [{ rawOutput: { output: 'done', metadata: {} } }], 'done'],
    ['their result as JSON', [{ rawOutput: { exit_code: 1 } }], '{"exit_code":1}'],
    ['no result beside a diff', [{ rawOutput: 'x', content: [{ type: 'diff', path: 'p', newText: 'n' }] }], undefined],
  ] as const)('take as their output %s', (_, updates, output) => {
    const events = fold([call('c'), ...updates.map(each => update('c', each)), update('c', { status: 'completed' })])
    expect(events.at(-1)?.data['output']).toBe(output)
    expect(events.at(-1)?.data).not.toHaveProperty('truncated')
  })

  test('do not tell their input while they run', () => {
    const [started] = fold([call('c', { title: 'rm -rf /secret', rawInput: { a: 1 }, name: 'bash' })])
    expect(Object.keys(started?.data ?? {}).toSorted()).toEqual([
      'activityId',
      'category',
      'name',
      'occurredAt',
      'status',
    ])
    expect(started?.data['name']).toBe('bash')
  })

  test('fail if they are open when the agent ends', () => {
    expect(briefly([call('a'), call('b')]).slice(2)).toEqual([
      'run.progress failed execute',
      'activity.completed failed execute',
      'run.progress failed execute',
      'activity.completed failed execute',
    ])
  })

  test('do not begin again by an update after their end', () => {
    const done = update('a', { status: 'completed' })
    expect(fold([call('a'), done, done, update('a', text('late'))])).toEqual(fold([call('a'), done]))
  })

  test('are separate activities even if a later one reuses an id', () => {
    const done = update('a', { status: 'completed' })
    const activities = fold([call('a'), done, call('a'), done]).map(event => event.data['activityId'])
    expect(new Set(activities).size).toBe(2)
  })

  test('get other ids in another attempt, which has another journal', () => {
    const [first] = new Transcript(of).apply(call('a'), 0, timeOf(0))
    const [second] = new Transcript({ ...of, attempt: 2 }).apply(call('a'), 0, timeOf(0))
    expect(first?.data['activityId']).not.toBe(second?.data['activityId'])
  })

  test.each([
    ['output', text('ü'.repeat(40_000)), { output: 'ü'.repeat(32_768) }],
    ['printed output', printed('ü'.repeat(40_000)), { output: 'ü'.repeat(32_768) }],
    ['a result', { rawOutput: 'ü'.repeat(40_000) }, { output: 'ü'.repeat(32_768) }],
    ['a result in JSON over 64 KiB', { rawOutput: { a: 'x'.repeat(65_536) } }, {}],
    ['title', { title: 'x'.repeat(2000) }, { title: 'x'.repeat(1024) }],
    ['an input over 64 KiB', { rawInput: { a: 'x'.repeat(65_536) } }, {}],
    [
      'both sides of a diff',
      { content: [{ type: 'diff', path: 'p', oldText: 'o'.repeat(70_000), newText: 'n'.repeat(70_000) }] },
      { diff: [{ path: 'p', oldText: 'o'.repeat(65_536), newText: 'n'.repeat(65_536) }] },
    ],
  ])('cut %s that is too long, and say so', (_, fields, expected) => {
    const completed = fold([call('c'), update('c', { status: 'completed', ...fields })]).at(-1)
    expect(completed?.data).toMatchObject({ truncated: true, ...expected })
  })

  test('hold a bounded number of diffs', () => {
    const diff = { type: 'diff', path: 'p', oldText: '', newText: 'n'.repeat(60_000) }
    const completed = fold([call('c', { content: Array.from({ length: 1000 }, () => diff), status: 'completed' })]).at(
      -1,
    )
    expect(completed?.data).toMatchObject({ truncated: true })
    expect(Buffer.byteLength(JSON.stringify(completed?.data))).toBeLessThan(1_100_000)
  })

  test('are open in a bounded number, and the one named longest ago fails first', () => {
    const transcript = new Transcript(of, 2)
    const given = [call('a'), call('b'), call('a'), call('c'), update('b', { status: 'completed' })]
    const drafts = given.flatMap((each, index) => transcript.apply(each, offsetOf(index), timeOf(index)))
    const [, b] = drafts.filter(draft => draft.data['status'] === 'started')
    expect(drafts.slice(2).map(brief)).toEqual([
      'run.progress started execute',
      'run.progress failed execute',
      'activity.completed failed execute',
    ])
    expect(drafts.at(-1)?.data['activityId']).toBe(b?.data['activityId'])
    expect(transcript.openCalls.map(({ title }) => title)).toEqual(['a', 'c'])
  })

  test('hold a bounded length of output and diffs while they are open', () => {
    const long = {
      content: Array.from({ length: 8 }, () => ({ type: 'diff', path: 'p', newText: 'n'.repeat(65_536) })),
    }
    const ends = Array.from({ length: 40 }, (_, index) => update(String(index), { status: 'completed' }))
    const completed = fold([...ends.map((_, index) => call(String(index), long)), ...ends]).filter(
      ({ type }) => type === 'svc.activity.completed',
    )
    expect(completed.map(({ data }) => ['diff' in data, data['truncated'] === true])).toEqual(
      ends.map((_, index) => [index < 32, index >= 32]),
    )
  })

  test.each(['name with spaces', 'x'.repeat(129), '', '/bin/rm -rf'])('go by their kind if their name is %j', name => {
    expect(fold([call('c', { name })])[0]?.data['name']).toBe('execute')
  })
})

describe('the last answer', () => {
  const lastAnswerOf = (updates: readonly Update[]) => {
    const transcript = new Transcript(of)
    for (const [index, each] of updates.entries()) transcript.apply(each, offsetOf(index), timeOf(index))
    transcript.close(timeOf(updates.length))
    return transcript.lastAnswer
  }

  test("is the assistant's last message, even beyond the bound of an event", () => {
    expect(lastAnswerOf([message('first'), think('hm'), message('x'.repeat(100_000)), think('done')])).toBe(
      'x'.repeat(100_000),
    )
  })

  test('is only a length if it is longer than a summary may be', () => {
    expect(lastAnswerOf([message('first'), call('c'), message('x'.repeat(100_001))])).toEqual({ sizeBytes: 100_001 })
  })
})

/** Any update: few ids, so that calls and messages meet. */
const anyUpdate: fc.Arbitrary<Update> = fc.oneof(
  fc.record({
    kind: fc.constant('text' as const),
    role: fc.constantFrom('assistant' as const, 'reasoning' as const),
    text: fc.string({ maxLength: 3 }),
  }),
  fc.tuple(fc.string({ maxLength: 2 }), fc.constantFrom('1', '2')).map(([text, id]) => message(text, id)),
  fc
    .tuple(
      fc.constantFrom('a', 'b', 'c'),
      fc.constantFrom(undefined, 'in_progress', 'completed', 'failed'),
      fc.boolean(),
    )
    .map(([id, status, begins]) => (begins ? call : update)(id, { ...(status && { status }), ...text(id) })),
  fc.constant({ kind: 'other' } as const),
)

describe('a fold that is taken over', () => {
  /** Reads up to each crash, then as another worker: from `openSince`, dropping events that were emitted before. */
  function foldWithCrashes(updates: readonly Update[], crashes: readonly number[], maxOpen?: number): EventDraft[] {
    const given: EventDraft[] = []
    let transcript = new Transcript(of, maxOpen)
    let committed = 0
    for (const end of [...crashes.toSorted((a, b) => a - b), updates.length]) {
      for (const [index, each] of updates.slice(0, end).entries()) {
        if (index < committed) continue
        given.push(...transcript.apply(each, offsetOf(index), timeOf(index)))
      }
      committed = end
      if (end === updates.length) break
      const from = transcript.openSince ?? offsetOf(committed)
      transcript = new Transcript(of, maxOpen)
      for (const [index, each] of updates.slice(0, committed).entries()) {
        if (offsetOf(index) >= from) transcript.apply(each, offsetOf(index), timeOf(index))
      }
    }
    return [...given, ...transcript.close(timeOf(updates.length))]
  }

  test('gives the same events as an uninterrupted one, wherever it is cut', () => {
    fc.assert(
      fc.property(
        fc.array(anyUpdate, { maxLength: 40 }),
        fc.array(fc.nat({ max: 40 }), { maxLength: 4 }),
        fc.constantFrom(1, 2, undefined),
        (updates, cuts, maxOpen) => {
          const crashes = cuts.map(cut => Math.min(cut, updates.length))
          expect(foldWithCrashes(updates, crashes, maxOpen)).toEqual(foldWithCrashes(updates, [], maxOpen))
        },
      ),
      { numRuns: 1000 },
    )
  })
})

test("masks a secret in a command's output, across pieces and before the cut, and in results", () => {
  const secret = 'a-secret-of-the-sandbox'
  const redactor = new Redactor([secret])
  const transcript = new Transcript(of, undefined, redactor)
  const outputOf = (id: string, ...updates: object[]) => {
    const all = [{ sessionUpdate: 'tool_call' }, ...updates, { status: 'completed' }]
    const drafts = all.flatMap((each, at) => {
      const params = { update: { sessionUpdate: 'tool_call_update', toolCallId: id, ...each } }
      return transcript.apply(readUpdate(params, redactor), at, new Date(0))
    })
    return drafts.at(-1)?.data['output']
  }
  const print = (data: string) => ({ _meta: { terminal_output_delta: { data } } })
  const fill = 'x'.repeat(65_536 - 10)
  expect(outputOf('a', print(fill), ...[...secret].map(print), print('!'.repeat(99)))).toBe(`${fill}[secret]!!`)
  expect(outputOf('b', { rawOutput: `${fill}${secret}` })).toBe(`${fill}[secret]`)
  expect(outputOf('c', { rawOutput: { code: secret } })).toBe('{"code":"[secret]"}')
})
