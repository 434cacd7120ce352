import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import type { KeyedRecordType, RecordType } from '@berth/supervisor'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JournalRecord } from '../supervisor/stream.ts'
import { promptKeyOf, replyKey, wireIds } from './acp-orders.ts'
import type { AgentRequest } from './acp-questions.ts'
import { AgentConversation, type Reading } from './agent-conversation.ts'
import type { AgentFacts } from './agent-handshake.ts'
import { BERTH_EVENT } from './berth-event.ts'

const of = { runId: 'run', attempt: 1, turnSequence: 2 }
const promptKey = `${promptKeyOf(of)}1`
const promptId = wireIds.prompt(of.turnSequence, of.attempt)

const none: AgentFacts = {
  generation: 0,
  state: 'none',
  loadsSessions: false,
  mcp: [],
  sessionId: null,
  activePrompt: null,
}
const ready: AgentFacts = {
  generation: 1,
  state: 'ready',
  loadsSessions: true,
  mcp: [],
  sessionId: 's1',
  activePrompt: null,
}
const working: AgentFacts = { ...ready, activePrompt: promptKey }

/** A record without its offsets. */
type Entry = {
  readonly [Type in RecordType]: { readonly type: Type; readonly payload: string } & (Type extends KeyedRecordType
    ? { readonly key: string }
    : unknown)
}[RecordType]

const agent = (message: object): Entry => ({ type: 'o', payload: JSON.stringify({ jsonrpc: '2.0', ...message }) })
const answer = (id: number | string, result: unknown = {}) => agent({ id, result })
const refusal = (id: number) => agent({ id, error: { code: -32603, message: 'no' } })
const updated = (update: object) => agent({ method: 'session/update', params: { sessionId: 's1', update } })
const messageOf = (text: string) => updated({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
const calls = (toolCallId: string) =>
  updated({ sessionUpdate: 'tool_call', toolCallId, title: toolCallId, kind: 'edit' })
const ends = (toolCallId: string) => updated({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
const asks = (id: number | string, method = 'session/request_permission', toolCallId?: string) =>
  agent({
    id,
    method,
    params: {
      ...(toolCallId !== undefined && { toolCall: { toolCallId, title: toolCallId } }),
      options: [
        { optionId: 'always', kind: 'allow_always' },
        { optionId: 'yes', kind: 'allow_once' },
        { optionId: 'no', kind: 'reject_once' },
      ],
    },
  })
const request = (method: string, params: object) => agent({ id: 7, method, params })
const form = (property: object) =>
  request('elicitation/create', { mode: 'form', requestedSchema: { properties: { a: property } } })
const given = (key: string): Entry => ({ type: 'i', key, payload: '{}' })
const started: Entry = { type: 's', key: 'start/1', payload: '{"pid":7}' }
const exited = (signal: string | null = null): Entry => ({ type: 'x', payload: JSON.stringify({ code: 1, signal }) })

/** Places entries one after another from byte 0, one second apart. */
function journal(entries: readonly Entry[]): JournalRecord[] {
  const records: JournalRecord[] = []
  for (const [index, entry] of entries.entries()) {
    const payload = Buffer.from(entry.payload)
    const start = records.at(-1)?.end ?? 0
    const place = { start, end: start + payload.length + 10, payload }
    const at = new Date(index * 1000)
    if (entry.type === 's') records.push({ ...place, at, type: entry.type, key: entry.key })
    else if (entry.type === 'o' || entry.type === 'x') records.push({ ...place, at, type: entry.type })
    else if (entry.type === 'e' || entry.type === '!') records.push({ ...place, type: entry.type })
    else records.push({ ...place, type: entry.type, key: entry.key })
  }
  return records
}

/** Returns a conversation that has read all these entries. */
const read = (facts: AgentFacts, ...entries: Entry[]) => readBy(false, facts, ...entries)

/** Returns the same of Berth's own agent. */
const readOwn = (facts: AgentFacts, ...entries: Entry[]) => readBy(true, facts, ...entries)

function readBy(isOwn: boolean, facts: AgentFacts, ...entries: Entry[]): AgentConversation {
  const conversation = new AgentConversation(of, facts, 0, undefined, undefined, { isOwn })
  for (const record of journal(entries)) conversation.apply(record)
  return conversation
}

const background = (...commands: readonly (readonly [string, string])[]) =>
  agent({
    method: BERTH_EVENT,
    params: { type: 'background_updated', data: { commands: commands.map(([id, status]) => command(id, status)) } },
  })
const command = (id: string, status: string) => ({ id, command: id, status, startedAt: '2026-01-01T00:00:00.000Z' })
const plans = (content: string) => updated({ sessionUpdate: 'plan', entries: [{ content, status: 'pending' }] })

const types = (drafts: readonly EventDraft[]) => drafts.map(draft => draft.type.replace('svc.', ''))

describe('an agent', () => {
  test('that does not speak with a server of its lease says so in the log, once', () => {
    const servers = (['http', 'sse'] as const).map(kind => ({
      name: `a.${kind}`,
      kind,
      url: 'https://a/',
      headers: {},
    }))
    const steps = [started, answer(wireIds.initialize, { agentCapabilities: { mcpCapabilities: { http: true } } })]
    const options = { isOwn: false, servers }
    const [first, again] = [0, journal(steps).at(-1)?.end ?? 0].map(committed => {
      const conversation = new AgentConversation(of, none, committed, undefined, undefined, options)
      for (const record of journal(steps)) conversation.apply(record)
      return conversation.take()
    })
    expect(first?.facts.mcp).toEqual(['http'])
    expect(first?.drafts).toMatchObject([
      {
        type: 'svc.activity.completed',
        data: { name: 'mcp', status: 'failed', title: expect.stringContaining('a.sse') },
      },
    ])
    expect(again?.drafts).toEqual([])
  })

  test('starts, is initialized, gets a session and is ready', () => {
    const steps = [started, answer(wireIds.initialize, { agentCapabilities: { loadSession: true } })]
    expect(read(none, started).facts).toMatchObject({ generation: 1, state: 'started' })
    expect(read(none, ...steps).facts).toMatchObject({ state: 'initialized', loadsSessions: true })
    expect(read(none, ...steps, answer(wireIds.newSession, { sessionId: 'a' })).facts).toMatchObject({
      state: 'ready',
      sessionId: 'a',
    })
    expect(read({ ...none, sessionId: 'old' }, ...steps, answer(wireIds.loadSession, null)).facts).toMatchObject({
      state: 'ready',
      sessionId: 'old',
    })
  })

  test('is not ready before it has repeated a conversation, if it does so late', () => {
    const steps = [started, answer(wireIds.initialize, { agentCapabilities: { loadSession: true } })]
    const repeated = [
      agent({
        method: 'session/update',
        params: {
          sessionId: 'old',
          update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Said before.' } },
        },
      }),
    ]
    const entries = [...steps, answer(wireIds.loadSession, null), ...repeated]
    const options = { isOwn: false, repeatsLate: true }
    const facts = { ...none, sessionId: 'old' }
    const conversation = new AgentConversation(of, facts, 0, undefined, undefined, options)
    for (const record of journal(entries)) conversation.apply(record)
    expect(conversation.facts.state).toBe('loaded')
    const after = new AgentConversation(of, facts, 0, undefined, undefined, options)
    for (const record of journal([...entries, refusal(wireIds.barrier)])) after.apply(record)
    expect(after.facts.state).toBe('ready')
    expect(after.take().drafts).toEqual([])
  })

  test.each([
    ['refuses to be initialized', [started, refusal(wireIds.initialize)]],
    ['answers its initialization with nothing', [started, answer(wireIds.initialize, 'ok')]],
    ['refuses a session', [started, answer(wireIds.initialize), refusal(wireIds.newSession)]],
    [
      'names a session at too great length',
      [started, answer(wireIds.initialize), answer(wireIds.newSession, { sessionId: 'x'.repeat(1025) })],
    ],
    ['names no session', [started, answer(wireIds.initialize), answer(wireIds.newSession, { sessionId: 7 })]],
    ['cannot load a session', [started, answer(wireIds.initialize), refusal(wireIds.loadSession)]],
    ['cannot be started', [{ type: 'f' as const, key: 'start/1', payload: '{"code":"ENOENT"}' }]],
  ])('cannot be used if it %s', (_, entries) => {
    const conversation = read(none, ...entries)
    expect(conversation.end).toMatchObject({ kind: 'unstartable' })
    expect(conversation.facts.state).not.toBe('ready')
  })

  test('is asked for people with ids that are long, which its reply repeats', () => {
    const options = [{ optionId: 'x'.repeat(2000), kind: 'allow_once' }]
    const permission = request('session/request_permission', { options })
    const { requests } = read(working, asks('x'.repeat(2000)), permission).take()
    expect(requests.map(({ agentRequest }) => agentRequest)).toMatchObject([
      { id: 'x'.repeat(2000), allow: 'yes' },
      { allow: 'x'.repeat(2000) },
    ])
    expect(requests.map(({ declined }) => declined)).toEqual([false, false])
  })

  test.each([
    ['permission', asks('x'.repeat(65_537)), { outcome: { outcome: 'selected', optionId: 'no' } }],
    ['an answer', asks('x'.repeat(65_537), 'elicitation/create'), { action: 'cancel' }],
  ])('is refused %s, and hears no error, if the id of its request is too long to be kept', (_, request, result) => {
    const conversation = read(working, request)
    const [reply] = conversation.takeReplies()
    expect(JSON.parse(reply?.line ?? '')).toEqual({ jsonrpc: '2.0', id: 'x'.repeat(65_537), result })
    expect(conversation.take()).toMatchObject({ requests: [] })
    expect(conversation.waits).toBe(false)
  })

  test('is declined if the option to allow its action is too long to be kept', () => {
    const options = [
      { optionId: 'x'.repeat(65_537), kind: 'allow_once' },
      { optionId: 'no', kind: 'reject_once' },
    ]
    const { requests } = read(working, request('session/request_permission', { options })).take()
    expect(requests).toMatchObject([{ declined: true, agentRequest: { allow: null, deny: 'no' } }])
  })

  test('gets back a choice of any length whole, and people see its beginning', () => {
    const long = 'x'.repeat(5000)
    const { requests } = read(working, form({ type: 'string', oneOf: [{ const: long }, { const: `${long}y` }] })).take()
    const [first = '', second = ''] = [long.slice(0, 500), `${long.slice(0, 495)}… (2)`]
    expect(requests).toMatchObject([
      { declined: false, ask: { questions: [{ options: [first, second], optionValues: [long, `${long}y`] }] } },
    ])
  })

  test('keeps a tool call with a long id apart from another, also where it asks people', () => {
    const [one, other] = [`${'x'.repeat(1025)}1`, `${'x'.repeat(1025)}2`]
    const { drafts, requests, toolCalls } = read(
      working,
      calls(one),
      calls(other),
      asks(8, undefined, one),
      ends(one),
    ).take()
    expect(toolCalls).toBe(2)
    expect(requests).toMatchObject([{ ask: { approval: { kind: 'edit' } } }])
    const ended = drafts.filter(({ data }) => data['status'] === 'succeeded').map(({ data }) => data['activityId'])
    const begun = drafts.filter(({ data }) => data['status'] === 'started').map(({ data }) => data['activityId'])
    expect(new Set(ended)).toEqual(new Set([begun[0]]))
  })

  test('changes nothing by an answer that nobody asked for', () => {
    const strays = [
      answer(wireIds.newSession, { sessionId: 'x' }),
      answer(wireIds.initialize),
      answer(4711),
      refusal(promptId),
    ]
    expect(read(ready, ...strays)).toMatchObject({ facts: ready, end: null })
  })

  test('has the prompt once it was given it, and its output from then on belongs to the run', () => {
    const conversation = read(ready, messageOf('before'), calls('before'), given(promptKey), messageOf('after'))
    expect(conversation.prompted).toBe(true)
    conversation.close()
    expect(conversation.take().drafts.map(draft => draft.data['text'])).toEqual(['after'])
  })

  test('does not have a prompt that was written after its end, nor that of another run', () => {
    expect(read(ready, exited(), given(promptKey)).prompted).toBe(false)
    expect(read(ready, given('prompt/another/1/1')).prompted).toBe(false)
    expect(read(ready, given(`${promptKeyOf({ ...of, attempt: 2 })}1`)).prompted).toBe(false)
  })

  test.each([
    ['loses the attempt while it has its prompt', working, { kind: 'exited', signal: 'SIGKILL' }],
    ['loses the attempt while it starts', { ...none, state: 'started' } as const, { kind: 'exited' }],
    ['loses nothing while it is idle: another process gets the prompt', ready, null],
  ])('that exits %s', (_, facts, end) => {
    const conversation = read(facts, exited('SIGKILL'))
    if (end === null) expect(conversation.end).toBeNull()
    else expect(conversation.end).toMatchObject(end)
    expect(conversation.facts).toMatchObject({ state: 'exited', activePrompt: null })
  })

  test('ends the run with its answer, and nothing it does later changes that', () => {
    const conversation = read(working, messageOf('done'), answer(promptId, { stopReason: 'end_turn' }), exited())
    expect(conversation.end).toMatchObject({ kind: 'answered', outcome: { status: 'completed' } })
    conversation.close()
    expect(conversation.lastAnswer).toBe('done')
  })

  test('does not end the run by its answer if another prompt follows', () => {
    const further = `${promptKey}/feedback/7`
    const entries = [messageOf('no'), answer(promptId, { stopReason: 'end_turn' }), given(further), messageOf('yes')]
    const conversation = read(working, ...entries)
    expect([conversation.end, conversation.facts.activePrompt]).toEqual([null, further])
    conversation.close()
    expect(conversation.take().drafts.map(({ data }) => data['text'])).toEqual(['no', 'yes'])
  })

  test.each([
    ['counts no tool call for a file that the model was given', true, 1],
    ['believes that of no other agent', false, 2],
  ])('%s, and takes one title', (_, isOwn, toolCalls) => {
    const file = { toolCallId: 'i', name: 'instructions', kind: 'read', title: 'read AGENTS.md' } as const
    const titled = (title: string) => updated({ sessionUpdate: 'session_info_update', title })
    const conversation = readBy(
      isOwn,
      working,
      updated({ sessionUpdate: 'tool_call', ...file }),
      ...[ends('i'), titled(' '), titled('One'), messageOf('a'), titled('Two'), calls('a')],
    )
    const { drafts, ...reading } = conversation.take()
    expect(reading).toMatchObject({ toolCalls, title: 'One' })
    expect(types(drafts)).toEqual([
      'run.progress',
      'run.progress',
      'activity.completed',
      'message.created',
      'run.progress',
    ])
    const after = journal([messageOf('b'), titled('Three')]).map(record => ({ ...record, end: record.end + 10_000 }))
    for (const record of after) conversation.apply(record)
    expect(conversation.take().title).toBeNull()
    const named = new AgentConversation(of, working, 0, undefined, undefined, { isOwn, takesTitle: false })
    for (const record of journal([titled('One')])) named.apply(record)
    expect(named.take().title).toBeNull()
    expect(read(ready, titled('Early')).take().title).toBeNull()
  })

  test('makes each tool call once, however it ends', () => {
    const conversation = read(working, calls('a'), ends('a'), ends('a'), calls('b'), exited())
    conversation.close()
    expect(conversation.take()).toMatchObject({ toolCalls: 2 })
    expect(conversation.take()).toMatchObject({ toolCalls: 0, drafts: [] })
  })
})

describe('a request of an agent', () => {
  const repliesTo = (...entries: Entry[]) =>
    read(working, ...entries)
      .takeReplies()
      .map(order => JSON.parse(order.line))

  test('for permission is put to people once, however often it is read', () => {
    const conversation = read(working, messageOf('x'), asks('a'), messageOf('y'))
    expect(conversation.takeReplies()).toEqual([])
    expect(conversation.take().requests).toMatchObject([
      { draftsBefore: 1, ask: { kind: 'approval' }, agentRequest: { id: 'a', allow: 'yes', deny: 'no' } },
    ])
    const records = journal([messageOf('x'), asks('a')])
    const { start = 0, end = 0 } = records[1] ?? {}
    const again = new AgentConversation(of, working, end, new Map([[start, 'a']]))
    for (const record of records) again.apply(record)
    expect([again.take().requests, again.takeReplies(), again.waits]).toEqual([[], [], true])
  })

  test('for permission is turned down while the run is being cancelled', () => {
    const options = { isOwn: false, asksPeople: () => false }
    const conversation = new AgentConversation(of, working, 0, undefined, undefined, options)
    for (const record of journal([asks(1)])) conversation.apply(record)
    expect(JSON.parse(conversation.takeReplies()[0]?.line ?? '')).toMatchObject({
      result: { outcome: { outcome: 'cancelled' } },
    })
  })

  test('is declined after too many, and refused by its own option after far too many', () => {
    const conversation = read(working, ...Array.from({ length: 130 }, (_, id) => asks(id)))
    const { requests } = conversation.take()
    expect([requests.length, requests.findIndex(({ declined }) => declined)]).toEqual([128, 32])
    const outcomes = conversation.takeReplies().map(order => JSON.parse(order.line).result.outcome.optionId)
    expect(outcomes).toEqual(['no', 'no'])
  })

  test('is withdrawn by its id, and the newest with that id is meant', () => {
    const entries = [asks(1), asks(1), agent({ method: '$/cancel_request', params: { requestId: 1 } })]
    expect(read(working, ...entries).take().withdrawn).toEqual([journal(entries)[1]?.start])
  })

  test('for permission announces its call if nothing else does', () => {
    const { drafts, toolCalls } = read(working, asks(1, 'session/request_permission', 'c'), ends('c')).take()
    expect([types(drafts), toolCalls]).toEqual([['run.progress', 'run.progress', 'activity.completed'], 1])
  })

  test('for anything else is refused', () => {
    expect(repliesTo(asks(1, 'fs/read_text_file'))).toMatchObject([{ id: 1, error: { code: -32601 } }])
  })

  test('is answered under the key of its offset, so that an agent may reuse an id', () => {
    const other = asks(1, 'fs/read_text_file')
    const keys = read(working, other, other)
      .takeReplies()
      .map(order => order.key)
    const places = journal([other, other]).map(record => replyKey(record.start))
    expect(keys).toEqual(places)
  })

  test('holds back the offset to read from until the journal has its answer', () => {
    const entries = [messageOf('x'), asks(1, 'fs/read_text_file'), messageOf('y'), calls('c'), ends('c')]
    const [, request, , , last] = journal(entries)
    expect(read(working, ...entries).take().replayFrom).toBe(request?.start)
    const answered = [...entries, given(replyKey(request?.start ?? -1))]
    expect(read(working, ...answered).take().replayFrom).toBe(journal(answered).at(-1)?.end)
    expect(last?.end).toBeGreaterThan(request?.start ?? 0)
  })

  test('may be one of very many without an answer', () => {
    const [noise, request] = journal([{ type: 'e', payload: 'warning' }, asks(1, 'fs/read_text_file')])
    if (noise === undefined || request === undefined) throw new Error('a journal without its records')
    const conversation = new AgentConversation(of, working, 0)
    conversation.apply(noise)
    for (let start = noise.end; start < 130_000; start += 1) conversation.apply({ ...request, start, end: start + 1 })
    expect(conversation.take().replayFrom).toBe(noise.end)
  })

  test('is no longer answered after its process has ended', () => {
    const conversation = read(working, asks(1), exited())
    expect(conversation.takeReplies()).toEqual([])
    const reading = conversation.take()
    expect(reading.replayFrom).toBe(reading.offset)
    expect([reading.withdrawn, reading.settled, conversation.waits]).toEqual([[0], [0], false])
  })
})

describe('a conversation that is taken over', () => {
  interface Whole {
    readonly drafts: readonly EventDraft[]
    readonly offsets: readonly number[]
    readonly toolCalls: number
    readonly facts: AgentFacts
    readonly replies: ReadonlySet<string>
    readonly end: AgentConversation['end']
  }

  /**
   * Reads a journal with workers that die. Each commits at the first cut and dies at the second, having read records
   * that it never committed. The next one begins at the offset in the rows.
   */
  function readWithDeaths(records: readonly JournalRecord[], deaths: readonly (readonly [number, number])[]): Whole {
    const drafts: EventDraft[] = []
    const replies = new Set<string>()
    const offsets: number[] = []
    const waiting = new Map<number, number | string>()
    const steering = new Set(steered)
    let toolCalls = 0
    let committed: Pick<Reading, 'offset' | 'replayFrom' | 'facts'> = { offset: 0, replayFrom: 0, facts: ready }
    const take = (reading: Reading) => {
      drafts.push(...reading.drafts)
      toolCalls += reading.toolCalls
      for (const { offset, agentRequest } of reading.requests) {
        offsets.push(offset)
        waiting.set(offset, (agentRequest as AgentRequest).id)
      }
      for (const offset of reading.settled) waiting.delete(offset)
      for (const turnId of reading.steered) steering.delete(turnId)
      committed = reading
    }
    for (const [commitAt, dieAt] of [...deaths, [records.length, records.length]] as const) {
      const worker = new AgentConversation(of, committed.facts, committed.offset, waiting, undefined, {
        isOwn: false,
        steering: [...steering],
      })
      const mine = records.filter(record => record.start >= committed.replayFrom)
      for (const record of mine.filter(each => records.indexOf(each) < Math.max(commitAt, dieAt))) {
        worker.apply(record)
        if (records.indexOf(record) === commitAt - 1 && record.end > committed.offset) take(worker.take())
        for (const order of worker.takeReplies()) replies.add(order.key)
        if (worker.end !== null) break
      }
      if (commitAt < records.length) continue
      worker.close()
      take(worker.take())
      return { drafts, offsets, toolCalls, facts: committed.facts, replies, end: worker.end }
    }
    throw new Error('the last worker reads to the end')
  }

  const steered = [1, 2].map(n => `00000000-0000-4000-8000-00000000000${n}`)

  const entry: fc.Arbitrary<Entry> = fc.oneof(
    { weight: 4, arbitrary: fc.string({ maxLength: 4 }).map(messageOf) },
    { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c').map(calls) },
    { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c').map(ends) },
    { weight: 1, arbitrary: fc.constantFrom(1, 2).map(id => asks(id)) },
    { weight: 1, arbitrary: fc.constant(asks(3, 'fs/read_text_file')) },
    { weight: 1, arbitrary: fc.constantFrom('a', 'd').map(id => asks(9, 'session/request_permission', id)) },
    { weight: 1, arbitrary: fc.constantFrom(...steered).map(turnId => answer(`steer/${turnId}`, { taken: true })) },
    { weight: 1, arbitrary: fc.constant<Entry>({ type: 'o', payload: 'noise' }) },
    { weight: 1, arbitrary: fc.constantFrom<Entry>({ type: 'e', payload: 'warning' }, { type: '!', payload: '{}' }) },
  )

  /** Puts the answers to most requests into the journal, a few records after the requests. */
  function answered(entries: readonly Entry[], lag: number): Entry[] {
    const all = [...entries]
    for (let index = 0; index < all.length; index += 1) {
      const entry = all[index]
      if (entry?.type !== 'o' || !/request_permission|read_text_file/.test(entry.payload) || index + lag > all.length)
        continue
      all.splice(index + lag, 0, given(replyKey(journal(all)[index]?.start ?? -1)))
    }
    return all
  }

  test('gives every event once, the same ones in the same order, wherever its workers die', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 30 }),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(answer(promptId, { stopReason: 'end_turn' }), exited('SIGSEGV')),
        fc.array(fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 40 })), { maxLength: 4 }),
        (entries, lag, last, cuts) => {
          const records = journal([given(promptKey), ...answered(entries, lag), last])
          const deaths = cuts
            .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
            .filter(([commitAt]) => commitAt < records.length)
            .toSorted(([a], [b]) => a - b)
          const alone = readWithDeaths(records, [])
          expect(readWithDeaths(records, deaths)).toEqual(alone)
          expect(alone.end).not.toBeNull()
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('tells that the agent has a message where it joined the work, and only of those it was given', () => {
    const [turnId = '', other = ''] = steered
    const worker = new AgentConversation(of, working, 0)
    worker.expectSteered(turnId)
    const [no, yes] = [{ taken: false }, { taken: true }]
    for (const record of journal([
      messageOf('before'),
      answer(`steer/${other}`, yes),
      answer(`steer/${turnId}`, yes),
      answer(`steer/${turnId}`, yes),
      messageOf('after'),
    ]))
      worker.apply(record)
    worker.close()
    const { drafts, steered: taken } = worker.take()
    expect(drafts.map(({ data }) => data['text'] ?? data['turnId'])).toEqual(['before', turnId, 'after'])
    expect(taken).toEqual([turnId])
    worker.expectSteered(other)
    for (const record of journal([answer(`steer/${other}`, no)])) worker.apply(record)
    expect(worker.take().steered).toEqual([])
  })

  test('knows the last answer only if that ended after its committed offset', () => {
    const records = journal([
      given(promptKey),
      messageOf('long ago'),
      calls('a'),
      asks(1),
      ends('a'),
      messageOf('at last'),
      calls('b'),
    ])
    const [, , , request, , , last] = records
    const next = (from: number, offset: number) => {
      const worker = new AgentConversation(of, working, offset)
      for (const record of records.filter(each => each.start >= from)) worker.apply(record)
      return worker.lastAnswer
    }
    expect(next(0, 0)).toBe('at last')
    expect(next(request?.start ?? 0, last?.start ?? 0)).toBe('at last')
    expect(next(request?.start ?? 0, last?.end ?? 0)).toBeUndefined()
  })
})

describe("an agent's state", () => {
  const commandsIn = (drafts: readonly EventDraft[]) =>
    drafts
      .filter(({ type }) => type === 'svc.background.updated')
      .map(({ data }) => (data['commands'] as { id: string; status: string }[]).map(({ id, status }) => [id, status]))

  test('changes beside its message, which stays whole', () => {
    const conversation = readOwn(
      working,
      messageOf('{"a":'),
      background(['b1', 'exited']),
      messageOf('1}'),
      answer(promptId),
    )
    conversation.close()
    const { drafts } = conversation.take()
    expect(types(drafts)).toEqual(['background.updated', 'message.created'])
    expect(conversation.lastAnswer).toBe('{"a":1}')
  })

  test('is told once, though the agent repeats it', () => {
    const steps = [
      plans('a'),
      plans('a'),
      messageOf('on'),
      plans('a'),
      background(['b1', 'running']),
      plans('b'),
      plans('b'),
    ]
    const reported = { plan: { entries: [{ content: 'a', status: 'pending' as const }] }, background: [] }
    for (const [options, kept] of [
      [undefined, ['b']],
      [{ isOwn: true, reported }, ['b']],
    ] as const) {
      const conversation = new AgentConversation(of, working, 0, undefined, undefined, options)
      for (const record of journal(steps)) conversation.apply(record)
      const reportedPlans = conversation.take().drafts.filter(({ type }) => type === 'svc.plan.updated')
      expect(reportedPlans.map(({ data }) => data['entries'])).toMatchObject(kept.map(content => [{ content }]))
    }
    const cleared = agent({ method: BERTH_EVENT, params: { type: 'conversation_cleared' } })
    expect(types(read(working, plans('a'), cleared, plans('a')).take().drafts)).toEqual([
      'plan.updated',
      'conversation.cleared',
      'plan.updated',
    ])
  })

  test('is one Event of a reading, however often it changes meanwhile', () => {
    const changes = [plans('a'), background(['b1', 'running']), plans('b'), plans('a'), background(['b1', 'exited'])]
    const { drafts } = readOwn(working, ...changes, plans('b')).take()
    expect(drafts.map(({ data }) => data['entries'] ?? data['commands'])).toMatchObject([
      [{ content: 'b' }],
      [{ id: 'b1', status: 'exited' }],
    ])
  })

  test('has no commands in the background if it is another agent than our own', () => {
    const conversation = read(working, messageOf('{"a":'), background(['b1', 'running']), messageOf('1}'))
    expect([types(conversation.take().drafts), conversation.hasCommands]).toEqual([[], false])
  })

  test('has no running command any more once its process is gone', () => {
    const begun = background(['b1', 'exited'], ['b2', 'running'])
    const gone = [
      ['b1', 'exited'],
      ['b2', 'stopped'],
    ]
    expect(
      commandsIn(readOwn(working, begun, messageOf('on'), exited('SIGKILL'), started).take().drafts).at(-1),
    ).toEqual(gone)
    // A worker that takes over knows them from the rows. The process may have ended between two Runs.
    const reported = { plan: null, background: [command('b1', 'exited'), command('b2', 'running')] }
    for (const end of [exited(), started]) {
      const later = new AgentConversation(of, ready, 0, undefined, undefined, { isOwn: true, reported })
      for (const record of journal([end])) later.apply(record)
      expect(commandsIn(later.take().drafts)).toEqual([gone])
    }
    expect(types(readOwn(working, background(['b1', 'exited']), exited()).take().drafts)).toEqual([
      'background.updated',
    ])
  })

  test('is read also while it has no prompt', () => {
    expect(commandsIn(readOwn(ready, background(['b1', 'exited']), plans('a')).take().drafts)).toEqual([
      [['b1', 'exited']],
    ])
  })
})
