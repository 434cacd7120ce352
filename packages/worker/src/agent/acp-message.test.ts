import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAgentMessage, readPermissionCall, readUpdate } from './acp-message.ts'
import { AgentConversation } from './agent-conversation.ts'
import { readBerthEvent } from './berth-event.ts'

describe("the reader of an agent's lines", () => {
  test.each([
    ['', 'noise'],
    ['Loading model…', 'noise'],
    ['{"half":', 'noise'],
    ['null', 'noise'],
    ['[{"jsonrpc":"2.0","method":"batch"}]', 'noise'],
    ['{"jsonrpc":"1.0","method":"x"}', 'noise'],
    ['{"jsonrpc":"2.0"}', 'noise'],
    ['{"jsonrpc":"2.0","id":null,"result":{}}', 'noise'],
    ['{"jsonrpc":"2.0","id":{},"result":{}}', 'noise'],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', 'response'],
    ['{"jsonrpc":"2.0","id":"a","method":"x"}', 'request'],
    ['{"jsonrpc":"2.0","method":"x","params":[1]}', 'notification'],
  ])('reads %j as %s', (line, kind) => {
    expect(readAgentMessage(line).kind).toBe(kind)
  })

  test.each(['"broken"', '7', '[]', '{}', 'true'])('takes an answer with the error %s as failed', error => {
    expect(readAgentMessage(`{"jsonrpc":"2.0","id":1,"error":${error}}`)).toMatchObject({ error: {} })
    expect(readAgentMessage('{"jsonrpc":"2.0","id":1,"error":null,"result":{}}')).toMatchObject({ error: null })
  })
})

describe('texts of an agent', () => {
  test('lose characters that PostgreSQL cannot store', () => {
    const content = { type: 'text', text: 'a\u0000b\ud800c' }
    expect(readUpdate({ update: { sessionUpdate: 'agent_message_chunk', content } })).toMatchObject({ text: 'a�b�c' })
    const rawInput = { 'k\u0000': ['\udfff', { deep: '\u0000' }], n: 1.5, b: false, z: null }
    expect(readUpdate({ update: { sessionUpdate: 'tool_call', toolCallId: 'c', rawInput } })).toMatchObject({
      call: { input: { 'k�': ['�', { deep: '�' }], n: 1.5, b: false, z: null }, truncated: false },
    })
  })
})

describe('plans of an agent', () => {
  const planOf = (entries: unknown) => readUpdate({ update: { sessionUpdate: 'plan', entries } })

  test('keep each step with a text, and count a step with another status as not done', () => {
    const entries = [
      { content: ' Look ', status: 'completed', priority: 'high' },
      { content: 'Change\u0000', status: 'begun', priority: 'urgent' },
      { content: '  ', status: 'pending' },
      'Test it',
      null,
    ]
    expect(planOf(entries)).toEqual({
      kind: 'plan',
      plan: {
        entries: [
          { content: 'Look', status: 'completed', priority: 'high' },
          { content: 'Change�', status: 'pending' },
        ],
      },
    })
    expect(planOf('Look')).toEqual({ kind: 'other' })
  })

  test('are cut to their bounds, and say so', () => {
    const { plan } = planOf(Array.from({ length: 60 }, () => ({ content: 'x'.repeat(600) }))) as {
      plan: { entries: { content: string }[] }
    }
    expect(plan).toMatchObject({ truncated: true })
    expect([plan.entries.length, plan.entries[0]?.content.length]).toEqual([50, 500])
    expect(planOf([{ content: 'x'.repeat(500) }])).not.toHaveProperty('plan.truncated')
  })
})

test('commands in the background keep those with an id and a time, within their bounds', () => {
  const reported = (commands: unknown) => readBerthEvent({ type: 'background_updated', data: { commands } }, 'run')
  const startedAt = '2026-01-01T00:00:00.000Z'
  const whole = { id: 'b1', command: 'npm start', status: 'exited', startedAt, exitCode: 1 }
  const long = { id: 'b2', command: 'x'.repeat(600), startedAt, exitCode: 'no' }
  expect(reported([whole, long, { id: 'b3' }, null, { ...whole, id: '', startedAt: 7 }])).toEqual({
    type: 'svc.background.updated',
    visibility: 'transcript',
    runId: 'run',
    data: {
      commands: [whole, { id: 'b2', command: 'x'.repeat(500), truncated: true, status: 'running', startedAt }],
    },
  })
  expect(reported('npm start')).toBeNull()
  const running = { ...whole, id: 'server', status: 'running' }
  const many = reported([running, ...Array.from({ length: 20 }, (_, n) => ({ ...whole, id: `b${n}` }))])
  const newest = Array.from({ length: 15 }, (_, n) => ({ ...whole, id: `b${n + 5}` }))
  expect(many?.data).toEqual({ commands: [running, ...newest], truncated: true })
})

describe('inputs of tools', () => {
  const inputOf = (rawInput: unknown) =>
    readUpdate({ update: { sessionUpdate: 'tool_call', toolCallId: 'c', rawInput } })
  const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))

  test('are left out whole if they are nested too deep', () => {
    expect(inputOf(nested(64))).toMatchObject({ call: { input: nested(64), truncated: false } })
    for (const depth of [66, 1_000_000]) {
      const read = inputOf(nested(depth))
      expect(read).toMatchObject({ call: { truncated: true } })
      expect(read).not.toHaveProperty('call.input')
    }
  })

  test('are left out whole if they are longer than an event holds', () => {
    const bytes = (count: number) => ({ a: 'x'.repeat(count - '{"a":""}'.length) })
    expect(inputOf(bytes(65_536))).toMatchObject({ call: { truncated: false } })
    expect(inputOf(bytes(65_537))).toMatchObject({ call: { truncated: true } })
    expect(inputOf(Array.from({ length: 1_000_000 }, () => ({})))).toMatchObject({ call: { truncated: true } })
    expect(inputOf({ a: '"'.repeat(60_000) })).toMatchObject({ call: { truncated: true } })
  })
})

describe('garbage from an agent', () => {
  /** Words of the protocol, for places where they make no sense. */
  const updates = [
    ...['jsonrpc', '2.0', 'id', 'method', 'params', 'result', 'error', 'update', 'sessionUpdate', 'content', 'type'],
    ...['session/update', 'session/request_permission', 'tool_call', 'tool_call_update', 'agent_message_chunk', 'text'],
    ...['toolCallId', 'toolCall', 'rawInput', 'diff', 'path', 'newText', 'status', 'completed', 'options', '_meta'],
    ...['berth', 'truncated', '__proto__', 'constructor', 'toString', 'kind', 'allow_once', 'optionId'],
  ]
  const { json } = fc.letrec(tie => ({
    json: fc.oneof(
      { depthSize: 'medium' },
      fc.constantFrom(...updates, null, true, 0, -1, 1e308, 1000),
      fc.string({ unit: 'binary' }),
      fc.array(tie('json'), { maxLength: 3 }),
      fc
        .array(fc.tuple(fc.constantFrom(...updates), tie('json')), { maxLength: 5 })
        .map(entries => Object.fromEntries(entries)),
    ),
  }))
  const message = fc.oneof(
    json,
    fc.record({
      jsonrpc: fc.constant('2.0'),
      method: fc.constantFrom('session/update', 'session/request_permission'),
      id: json,
      params: json,
    }),
    fc.record({
      jsonrpc: fc.constant('2.0'),
      method: fc.constant('session/update'),
      params: fc.record({
        update: fc.record({
          sessionUpdate: fc.constantFrom('tool_call', 'tool_call_update', 'agent_message_chunk', 'agent_thought_chunk'),
          toolCallId: fc.oneof(fc.constantFrom('a', 'b'), json),
          title: json,
          content: fc.oneof(json, fc.array(json)),
          rawInput: json,
          status: fc.oneof(fc.constantFrom('completed', 'failed'), json),
        }),
      }),
    }),
    fc.record({ jsonrpc: fc.constant('2.0'), id: fc.constantFrom(1, 2, 3, 1001), result: json, error: json }),
  )

  test('neither throws nor makes an event that cannot be stored', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            message.map(value => JSON.stringify(value) ?? ''),
            fc.string(),
          ),
          { maxLength: 20 },
        ),
        lines => {
          const facts = {
            generation: 1,
            state: 'ready',
            loadsSessions: true,
            mcp: [],
            sessionId: 's',
            activePrompt: 'prompt/r/1/1',
          } as const
          const conversation = new AgentConversation({ runId: 'r', attempt: 1, turnSequence: 0 }, facts, 0)
          for (const [index, line] of lines.entries()) {
            const payload = Buffer.from(line)
            conversation.apply({ type: 'o', start: index, end: index + 1, at: new Date(index), payload })
          }
          conversation.close()
          const { requests, ...rest } = conversation.take()
          // The agent gets its own request id back unchanged, kept as escaped text; nobody else sees it.
          const text = JSON.stringify({
            ...rest,
            requests: requests.map(({ agentRequest: _, ...question }) => question),
          })
          expect(text).not.toMatch(/\\u0000|\\ud[89a-f]/)
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('is not taken for the call of a permission request', () => {
    for (const toolCall of [undefined, null, 'a', [], {}, { toolCallId: '' }]) {
      expect(readPermissionCall({ toolCall })).toEqual({ kind: 'other' })
    }
  })
})
