import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CreateElicitationRequest, RequestPermissionRequest, SessionUpdate } from '@agentclientprotocol/sdk'
import { afterEach, describe, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine, textOf } from './support/engine.ts'
import { call, inputOf, saysUsing, toolsOf } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const done = { text: 'done' }
const fileOf = ({ home, sessionId }: Engine) => join(home, '.berth', 'sessions', `${sessionId}.jsonl`)

describe('a question', () => {
  const questions = [
    { question: 'Which colour?', header: 'Colour', options: ['red', 'blue'], recommended: 1, allowCustom: true },
    { question: 'Which sizes?', options: ['s', 'm'], multiSelect: true },
    { question: 'Why?' },
  ]

  test('reaches people as a form, and its answer goes to the model', async () => {
    const forms: CreateElicitationRequest[] = []
    engine = await openEngine({
      people: {
        async elicit(request) {
          forms.push(request)
          const content = { q1: 'blue', q2: ['s', 'm'], q3: 'because' }
          return { action: 'accept', content, _meta: { berth: { text: 'blue, because' } } }
        },
      },
    })
    engine.gateway.next(call('ask_user', { questions }), done)
    const turn = await engine.prompt('go')
    const begun = turn.updates.find(update => update.sessionUpdate === 'tool_call')
    expect(forms).toMatchObject([
      {
        mode: 'form',
        message: '',
        sessionId: engine.sessionId,
        toolCallId: begun?.toolCallId,
        requestedSchema: {
          required: ['q1', 'q2', 'q3'],
          properties: {
            q1: {
              type: 'string',
              enum: ['red', 'blue'],
              description: 'Which colour?',
              _meta: { berth: { header: 'Colour', recommendedIndex: 1, allowCustom: true } },
            },
            q2: { type: 'array', description: 'Which sizes?', items: { enum: ['s', 'm'] } },
            q3: { type: 'string', description: 'Why?' },
          },
        },
      },
    ])
    const [result] = callsOf(turn.updates)
    expect(result?.text).toBe(
      "Which colour?\n→ blue\n\nWhich sizes?\n→ s, m\n\nWhy?\n→ because\n\nIn the user's own words: blue, because",
    )
    expect(inputOf(engine.gateway.requests[1])).toContain('Which sizes?\\n→ s, m')
  })

  test('is reported to the model if people close it or nobody can be asked', async () => {
    engine = await openEngine({ people: { elicit: async () => ({ action: 'cancel' }) } })
    engine.gateway.next(call('ask_user', { questions }), done)
    expect(callsOf((await engine.prompt('go')).updates)).toMatchObject([
      { call: 'ask_user completed', text: expect.stringContaining('closed without an answer') },
    ])
    await engine[Symbol.asyncDispose]()
    engine = await openEngine()
    engine.gateway.next(call('ask_user', { questions }), done)
    expect(callsOf((await engine.prompt('go')).updates)).toMatchObject([
      { call: 'ask_user failed', text: expect.stringContaining('Nobody can be asked') },
    ])
  })

  test('is answered by the next message if the process ended meanwhile', async () => {
    let open = false
    engine = await openEngine({
      people: {
        elicit: () => {
          open = true
          return new Promise(() => undefined)
        },
      },
    })
    engine.gateway.next(call('ask_user', { questions }), done)
    const lost = engine.prompt('go')
    lost.catch(() => undefined)
    await until(() => open)
    await engine.restart()
    await engine.prompt('You asked: Which colour?\n\nThe answer is: blue', { answers: [{ kind: 'ask_user' }] })
    const input = inputOf(engine.gateway.requests[1])
    expect(input).toMatch(/The user's answer is the next message.*The answer is: blue/)
  })
})

describe('plan mode', () => {
  test('offers only reading tools until people approve the plan', async () => {
    const shown: RequestPermissionRequest[] = []
    engine = await openEngine({
      people: {
        async permit(request) {
          shown.push(request)
          if (shown.length > 1) return { outcome: { outcome: 'selected', optionId: 'approve' } }
          const outcome = { outcome: 'selected', optionId: 'keep_planning' } as const
          return { outcome, _meta: { berth: { feedback: 'Name the file.' } } }
        },
      },
    })
    const write = call('write', { path: 'a', content: 'b' })
    engine.gateway.next(
      write,
      call('exit_plan_mode', { plan: '1. Write.' }),
      call('exit_plan_mode', { plan: '1. Write a.' }),
      write,
      done,
    )
    const turn = await engine.prompt('/plan\nWrite the file')
    expect(shown).toMatchObject([
      {
        toolCall: { kind: 'switch_mode', title: 'Carry out this plan?', rawInput: { plan: '1. Write.' } },
        options: [{ kind: 'allow_once' }, { kind: 'reject_once' }],
      },
      { toolCall: { content: [{ content: { text: '1. Write a.' } }] } },
    ])
    expect(callsOf(turn.updates)).toMatchObject([
      { call: 'write failed' },
      { call: 'exit_plan_mode completed', text: expect.stringContaining('Name the file.') },
      { call: 'exit_plan_mode completed', text: expect.stringContaining('approved') },
      { call: 'write completed' },
    ])
    const [first, , , last] = engine.gateway.requests
    expect(toolsOf(first)).toEqual([
      'ask_user',
      'background',
      'delegate',
      'exit_plan_mode',
      'fetch',
      'list',
      'read',
      'search',
      'todo',
    ])
    expect(inputOf(first)).toContain('Plan mode is on')
    expect(inputOf(first)).not.toContain('/plan')
    expect(toolsOf(last)).toContain('write')
    expect(toolsOf(last)).not.toContain('exit_plan_mode')
  })

  test('refuses a plan that is too long to show whole', async () => {
    const shown: RequestPermissionRequest[] = []
    engine = await openEngine({
      people: {
        async permit(request) {
          shown.push(request)
          return { outcome: { outcome: 'selected', optionId: 'approve' } }
        },
      },
    })
    const most = '😀'.repeat(65_536)
    engine.gateway.next(call('exit_plan_mode', { plan: `${most}.` }), call('exit_plan_mode', { plan: most }), done)
    const turn = await engine.prompt('/plan\nWrite the file')
    expect(shown.map(({ toolCall }) => toolCall.rawInput)).toEqual([{ plan: most }])
    expect(callsOf(turn.updates)).toMatchObject([
      { call: 'exit_plan_mode failed', text: expect.stringContaining('nobody was asked') },
      { call: 'exit_plan_mode completed' },
    ])
  })

  test('outlives the process, and ends when the next process receives the approval', async () => {
    engine = await openEngine()
    expect(textOf((await engine.prompt('/plan')).updates)).toBe('Plan mode is on.')
    await engine.restart()
    engine.gateway.next(done)
    await engine.prompt('look')
    expect(toolsOf(engine.gateway.requests[0])).not.toContain('write')
    await engine.restart()
    await engine.prompt('The plan is approved.', { answers: [{ kind: 'exit_plan_mode', approved: true }] })
    expect(toolsOf(engine.gateway.requests[1])).toContain('write')
  })
})

describe('a command', () => {
  test('/clear clears the conversation, also for a process that loads it later', async () => {
    engine = await openEngine()
    engine.gateway.next(done)
    await engine.prompt('Remember the swan')
    const turn = await engine.prompt('/clear')
    expect(turn).toMatchObject({ stopReason: 'completed', reported: [{ type: 'conversation_cleared', data: {} }] })
    await engine.prompt('/clear\nWhat was it?')
    await engine.restart()
    await engine.prompt('And now?')
    const [, second, third] = engine.gateway.requests.map(inputOf)
    expect(second).toContain('What was it?')
    expect(third).toMatch(/What was it\?.*And now\?/)
    for (const input of [second, third]) expect(input).not.toMatch(/swan|\/clear/)
  })

  test('counts only if it is the whole first line', async () => {
    engine = await openEngine()
    engine.gateway.next(done)
    for (const text of ['/clear it', 'so\n/clear', ' /plan', '/help', '/skill:x']) await engine.prompt(text)
    expect(inputOf(engine.gateway.requests[4])).toMatch(/\/clear it.*so\\n\/clear.* \/plan.*\/help.*\/skill:x/)
    expect(engine.reported).toEqual([])
  })

  test('/compact compacts the conversation', async () => {
    engine = await openEngine({ model: { context_length: 20_000 } })
    expect(textOf((await engine.prompt('/compact')).updates)).toBe('There is nothing to compact yet.')
    const long = 'A swan, and more. '.repeat(1300)
    engine.gateway.next(saysUsing(done, 5500, 10), saysUsing(done, 11_000, 10), { text: 'SUMMARY OF IT' })
    await engine.prompt(long)
    await engine.prompt('A goose, and more. '.repeat(1300))
    const turn = await engine.prompt('/compact\nKeep the birds')
    expect(turn.reported).toMatchObject([{ type: 'context_compacted', data: { tokensBefore: 11_010 } }])
    expect(turn.reported[0]?.data['tokensAfter']).toBeLessThan(11_010)
    expect(inputOf(engine.gateway.requests[2])).toContain('Keep the birds')
    await engine.restart()
    engine.gateway.next(done)
    await engine.prompt('go on')
    const last = inputOf(engine.gateway.requests.at(-1))
    expect(last).toContain('SUMMARY OF IT')
    expect(last).not.toContain('A swan, and more.')
  })
})

test('the context is compacted before it overflows, and the work goes on', async () => {
  engine = await openEngine({ model: { context_length: 20_000 } })
  const { workspace } = engine
  writeFileSync(join(workspace, 'long'), 'A swan, and more. \n'.repeat(1500))
  engine.gateway.next(
    call('read', { path: 'long' }),
    saysUsing(call('list', {}), 19_000, 10),
    { text: 'SUMMARY OF IT' },
    done,
  )
  const turn = await engine.prompt('Read it')
  expect(turn).toMatchObject({ stopReason: 'completed', turns: 3, reported: [{ type: 'context_compacted' }] })
  expect(textOf(turn.updates)).toBe('done')
  expect(inputOf(engine.gateway.requests.at(-1))).toContain('SUMMARY OF IT')
})

test('characters that the gateway refuses are replaced, also after the conversation is loaded again', async () => {
  engine = await openEngine({ prepare: workspace => writeFileSync(join(workspace, 'AGENTS.md'), 'Mind the \0 gap.') })
  const { workspace } = engine
  writeFileSync(join(workspace, 'binary'), Buffer.from('\x7fELF\0\x01\x1b[0m\xff end', 'latin1'))
  engine.gateway.next(
    call('bash', { command: "printf 'a\\0b'" }),
    call('read', { path: 'binary' }),
    { text: 'I say \0 and \ud800.', calls: [{ name: 'list', args: { glob: '\0' } }] },
    done,
  )
  expect(await engine.prompt('Look')).toMatchObject({ stopReason: 'completed', turns: 4 })
  await engine.restart()
  expect(readFileSync(fileOf(engine), 'utf8')).toContain('a\\u0000b')
  expect(await engine.prompt('And again')).toMatchObject({ stopReason: 'completed' })
  const input = inputOf(engine.gateway.requests.at(-1))
  for (const sent of ['Mind the \ufffd gap.', 'a\ufffdb', '\x7fELF\ufffd\\u0001\\u001b[0m', 'I say \ufffd and'])
    expect(input).toContain(sent)
})

describe('loading a conversation', () => {
  const kinds = (updates: readonly SessionUpdate[]) => {
    // A live conversation arrives in pieces, a replayed one whole, so join the pieces.
    const reported: string[] = []
    for (const update of updates) {
      const { sessionUpdate: kind } = update
      const text = 'content' in update && update.content && 'text' in update.content ? update.content.text : ''
      const id = 'toolCallId' in update ? update.toolCallId : 'messageId' in update ? update.messageId : ''
      const line = `${kind} ${id} `
      const last = reported.at(-1)
      if (kind.endsWith('_chunk') && last?.startsWith(line)) reported[reported.length - 1] = last + text
      else reported.push(`${line}${kind.endsWith('_chunk') ? text : JSON.stringify(update)}`)
    }
    return reported
  }

  test('replays every update, and continues with the thoughts included', async () => {
    engine = await openEngine({ model: { supports_reasoning: true, native_wires: ['responses'] } })
    engine.gateway.next({ thinking: 'Let me look.', text: 'Looking.', calls: [{ name: 'list', args: {} }] }, done)
    const first = await engine.prompt('go')
    expect(kinds(first.updates)[0]).toContain('agent_thought_chunk')
    const before = engine.updates.length
    await engine.restart()
    const replayed = engine.updates.slice(before)
    expect(kinds(replayed).filter(line => !line.startsWith('user_message_chunk'))).toEqual(kinds(first.updates))
    expect(kinds(replayed)[0]).toMatch(/^user_message_chunk \S+ go$/)
    await engine.prompt('on')
    expect(inputOf(engine.gateway.requests[2])).toMatch(/sealed Let me look\..*function_call_output.*done.*"on"/)
    expect(engine.gateway.requests[0]?.body).toMatchObject({ include: ['reasoning.encrypted_content'] })
  })

  test('keeps the valid lines of a damaged file, and reports the dropped ones', async () => {
    engine = await openEngine()
    engine.gateway.next(done)
    await engine.prompt('one')
    await engine.prompt('two')
    const path = fileOf(engine)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    await engine.kill()
    writeFileSync(path, `${lines.slice(0, -1).join('\n')}\n${lines.at(-1)?.slice(0, 40)}`)
    await engine.restart()
    expect(engine.reported).toMatchObject([
      { type: 'timeline_truncated', data: { droppedEvents: 1, reason: 'conversation_damaged' } },
    ])
    await engine.prompt('three')
    expect(inputOf(engine.gateway.requests[2])).toMatch(/one.*done.*two.*three/)
    await engine.restart()
    expect(engine.reported).toHaveLength(1)
    const lost: readonly object[] = [
      { type: 'message', parentId: 'nowhere' },
      { type: 'message', parentId: null, message: null },
      { type: 'message', parentId: null, message: { role: 'assistant', content: [null] } },
    ]
    for (const [at, entry] of lost.entries()) {
      appendFileSync(path, `${JSON.stringify({ ...entry, id: 'x', timestamp: new Date().toISOString() })}\n`)
      await engine.restart()
      expect(engine.reported).toHaveLength(at + 2)
    }
    await engine.prompt('four')
    expect(inputOf(engine.gateway.requests[3])).toMatch(/one.*done.*two.*three.*done.*four/)
  })

  test('reports a command that was running when the process ended as interrupted', async () => {
    engine = await openEngine()
    // It goes on until the test takes its workspace away: the engine is killed while it runs, however late.
    engine.gateway.next(call('bash', { command: 'touch here; while [ -e here ]; do sleep 0.1; done' }), done)
    const lost = engine.prompt('go')
    lost.catch(() => undefined)
    await until(() => existsSync(join(engine.workspace, 'here')))
    await engine.restart()
    expect(callsOf(engine.updates)).toMatchObject([{ call: 'bash failed' }])
    await engine.prompt('on')
    expect(inputOf(engine.gateway.requests[1])).toContain('Interrupted: the sandbox was restarted')
  })

  test('refuses a conversation that does not exist', async () => {
    engine = await openEngine()
    await engine.kill()
    writeFileSync(fileOf(engine), 'no conversation\n')
    await expect(engine.restart()).rejects.toMatchObject({ code: -32002 })
  })
})
