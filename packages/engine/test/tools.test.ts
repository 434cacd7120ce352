import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine, textOf } from './support/engine.ts'
import { call, inputOf, saysUsing, toolsOf } from './support/scripted-gateway.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const broken =
  "import assert from 'node:assert'\nimport { add } from './add.js'\nassert.equal(add(1, 2), 3)\nconsole.log('passed')\n"

test('the engine fixes a failing test in a small repository', async () => {
  engine = await openEngine({
    prepare(workspace) {
      writeFileSync(join(workspace, 'package.json'), '{"type":"module"}')
      writeFileSync(join(workspace, 'add.js'), 'export const add = (a, b) => a - b\n')
      writeFileSync(join(workspace, 'add.test.js'), broken)
      writeFileSync(join(workspace, 'AGENTS.md'), 'Run the tests with node add.test.js.\n')
    },
  })
  engine.gateway.next(
    call('bash', { command: 'node add.test.js' }),
    { text: 'It subtracts.', calls: [{ name: 'search', args: { pattern: 'a - b' } }] },
    call('edit', { path: 'add.js', edits: [{ oldText: 'a - b', newText: 'a + b' }] }),
    call('bash', { command: 'node add.test.js' }),
    { text: 'Fixed.' },
  )
  const turn = await engine.prompt('Fix the failing test')
  expect(turn).toMatchObject({ acpReason: 'end_turn', stopReason: 'completed', turns: 5 })
  expect(callsOf(turn.updates)).toEqual([
    { call: 'instructions completed', text: '' },
    { call: 'bash failed', text: expect.stringContaining('AssertionError') },
    { call: 'search completed', text: 'add.js:1:export const add = (a, b) => a - b' },
    { call: 'edit completed', text: expect.stringContaining('add.js') },
    { call: 'bash completed', text: 'passed\n' },
  ])
  expect(textOf(turn.updates)).toBe('It subtracts.Fixed.')
  const edit = turn.updates.find(update => update.sessionUpdate === 'tool_call' && update.name === 'edit')
  expect(edit).toMatchObject({
    kind: 'edit',
    title: 'edit add.js',
    locations: [{ path: join(engine.workspace, 'add.js') }],
  })
  expect(JSON.stringify(turn.updates)).toContain('"type":"diff"')
  expect(readFileSync(join(engine.workspace, 'add.js'), 'utf8')).toContain('a + b')
  // The engine reads the repository's AGENTS.md; the placeholder is the only credential that it sends.
  expect(inputOf(engine.gateway.requests[0])).toContain('Run the tests with node add.test.js.')
  expect(engine.gateway.requests[0]?.headers.authorization).toBe('Bearer berth')
})

test('extensions and settings of a workspace never run, and its skills are offered', async () => {
  engine = await openEngine({
    prepare(workspace) {
      const ran = "require('node:fs').writeFileSync('RAN', '1')"
      mkdirSync(join(workspace, '.pi', 'extensions'), { recursive: true })
      writeFileSync(join(workspace, '.pi', 'extensions', 'evil.ts'), `${ran}; export default () => {}`)
      writeFileSync(
        join(workspace, '.pi', 'settings.json'),
        '{"shellCommandPrefix":"touch RAN","extensions":["evil.ts"]}',
      )
      for (const [directory, name] of [
        ['.agents', 'one'],
        ['.pi', 'two'],
        ['.claude', 'three'],
      ] as const) {
        mkdirSync(join(workspace, directory, 'skills', name), { recursive: true })
        const skill = `---\nname: ${name}\ndescription: Skill number ${name}\n---\nDo it.\n`
        writeFileSync(join(workspace, directory, 'skills', name, 'SKILL.md'), skill)
      }
    },
  })
  engine.gateway.next(call('bash', { command: 'echo $PI_SESSION_FILE-; ls' }), { text: 'done' })
  const turn = await engine.prompt('look')
  expect(callsOf(turn.updates)).toEqual([{ call: 'bash completed', text: '-\n' }])
  expect(existsSync(join(engine.workspace, 'RAN'))).toBe(false)
  const input = inputOf(engine.gateway.requests[0])
  for (const name of ['one', 'two', 'three']) expect(input).toContain(`Skill number ${name}`)
})

test("skills of the agent's home are offered, and a workspace's skill of the same name wins", async () => {
  const write = (base: string, name: string, description: string) => {
    const at = join(base, '.agents/skills', name)
    mkdirSync(at, { recursive: true })
    writeFileSync(join(at, 'SKILL.md'), `---\nname: ${name}\ndescription: ${description}\n---\nDo it.\n`)
  }
  engine = await openEngine({
    prepare(workspace, home) {
      write(home, 'packed', 'Comes with an extension')
      write(home, 'both', 'Of the home')
      write(workspace, 'both', 'Of the workspace')
    },
  })
  engine.gateway.next({ text: 'done' })
  await engine.prompt('look')
  const input = inputOf(engine.gateway.requests[0])
  for (const text of ['Comes with an extension', 'Of the workspace']) expect(input).toContain(text)
  expect(input).not.toContain('Of the home')
})

test('an unusable skill is reported once to people and to the model, and the other skills are offered', async () => {
  const skills: Readonly<Record<string, string>> = {
    good: '---\nname: good\ndescription: A good skill\n---\nDo it.\n',
    Odd: '---\nname: Odd\ndescription: An oddly named skill\n---\nDo it.\n',
    mute: '---\nname: mute\n---\nDo it.\n',
    torn: '---\nname: [torn\n---\nDo it.\n',
  }
  engine = await openEngine({
    prepare(workspace) {
      for (const [name, skill] of Object.entries(skills)) {
        mkdirSync(join(workspace, '.agents/skills', name), { recursive: true })
        writeFileSync(join(workspace, '.agents/skills', name, 'SKILL.md'), skill)
      }
    },
  })
  engine.gateway.next({ text: 'done' }, { text: 'done' })
  const troubles = callsOf((await engine.prompt('go')).updates)
  expect(troubles).toHaveLength(2)
  expect(troubles).toMatchObject([
    { call: 'skill failed', text: 'Skill .agents/skills/mute/SKILL.md: description is required' },
    { call: 'skill failed', text: expect.stringMatching(/^Skill \.agents\/skills\/torn\/SKILL\.md: [^\n]+$/) },
  ])
  expect(callsOf((await engine.prompt('again')).updates)).toEqual([])
  const input = inputOf(engine.gateway.requests[0])
  expect(input).toContain('Skill .agents/skills/mute/SKILL.md cannot be used: description is required')
  for (const offered of ['A good skill', 'An oddly named skill']) expect(input).toContain(offered)
})

test('the engine writes, lists, reads and searches files', async () => {
  engine = await openEngine()
  engine.gateway.next(
    call('write', { path: 'src/a.txt', content: 'one\ntwo\n' }),
    call('write', { path: 'src/a.txt', content: 'one\nthree\n' }),
    call('list', {}),
    call('list', { glob: '**/*.txt' }),
    call('read', { path: 'src/a.txt' }),
    call('search', { pattern: 'THREE', ignoreCase: true, glob: '*.txt' }),
    call('search', { pattern: 'four' }),
    call('read', { path: 'nowhere' }),
    { text: 'done' },
  )
  const turn = await engine.prompt('go')
  expect(callsOf(turn.updates)).toMatchObject([
    { call: 'write completed' },
    { call: 'write completed' },
    { call: 'list completed', text: 'src/' },
    { call: 'list completed', text: 'src/a.txt' },
    { call: 'read completed', text: 'one\nthree\n' },
    { call: 'search completed', text: 'src/a.txt:2:three' },
    { call: 'search completed', text: 'No matches.' },
    { call: 'read failed', text: expect.stringContaining('ENOENT') },
  ])
  const diffs = JSON.stringify(turn.updates).match(/"oldText":("[^"]*"|null)/g)
  expect(diffs).toEqual(['"oldText":null', '"oldText":"one\\ntwo\\n"'])
})

describe('a model that is trained on patches', () => {
  const patch = (...lines: string[]) =>
    call('apply_patch', { input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') })

  test('changes files by patches in place of edits, all of them or none', async () => {
    engine = await openEngine({
      model: { provider_model: 'gpt-5.2-codex' },
      prepare(workspace) {
        writeFileSync(join(workspace, 'a.ts'), 'const a = 1\r\nconst b = 2\r\n')
        writeFileSync(join(workspace, 'old.ts'), 'old\n')
      },
    })
    const { workspace } = engine
    const update = ['*** Update File: a.ts', '@@', ' const a = 1', '-const b = 2', '+const b = 3']
    engine.gateway.next(
      patch(...update, '*** Update File: none.ts', '-x', '+y'),
      patch(
        ...update,
        '*** Add File: lib/c.ts',
        '+export {}',
        '*** Update File: old.ts',
        '*** Move to: lib/new.ts',
        '-old',
        '+new',
      ),
      patch('*** Add File: a.ts', '+x'),
      patch('*** Delete File: a.ts'),
      { text: 'done' },
    )
    const { updates } = await engine.prompt('go')
    expect(callsOf(updates)).toEqual([
      { call: 'apply_patch failed', text: 'Nothing was changed: none.ts: there is no such file.' },
      { call: 'apply_patch completed', text: 'Updated a.ts.\nAdded lib/c.ts.\nUpdated old.ts, now lib/new.ts.' },
      { call: 'apply_patch failed', text: expect.stringContaining('there is a.ts already') },
      { call: 'apply_patch completed', text: 'Deleted a.ts.' },
    ])
    expect(readFileSync(join(workspace, 'lib/new.ts'), 'utf8')).toBe('new\n')
    expect([existsSync(join(workspace, 'old.ts')), existsSync(join(workspace, 'a.ts'))]).toEqual([false, false])
    const second = updates.filter(update => update.sessionUpdate === 'tool_call')[1]
    expect(second).toMatchObject({ title: 'edit a.ts, lib/c.ts, old.ts', kind: 'edit' })
    expect(JSON.stringify(updates)).toContain(
      '"oldText":"const a = 1\\nconst b = 2\\n","newText":"const a = 1\\nconst b = 3\\n"',
    )
    const tools = toolsOf(engine.gateway.requests[0])
    expect(tools).toContain('apply_patch')
    expect(tools.filter(name => name === 'edit' || name === 'write')).toEqual([])
  })
})

describe('presenting a file', () => {
  test('runs berth-present from the sandbox', async () => {
    engine = await openEngine()
    const program = join(engine.workspace, '..', 'programs', 'berth-present')
    writeFileSync(
      program,
      '#!/bin/sh\n[ "$1" = --name ] && echo "presented $2 from $4" || { echo "no" >&2; exit 1; }\n',
    )
    chmodSync(program, 0o755)
    engine.gateway.next(
      call('present_file', { path: 'a.txt', name: 'b.txt' }),
      call('present_file', { path: 'a.txt' }),
      {
        text: 'done',
      },
    )
    const { updates } = await engine.prompt('give me a file')
    expect(callsOf(updates)).toEqual([
      { call: 'present_file completed', text: 'presented b.txt from a.txt' },
      { call: 'present_file failed', text: 'no' },
    ])
  })

  test('fails with a message if there is no berth-present', async () => {
    engine = await openEngine()
    engine.gateway.next(call('present_file', { path: 'a.txt' }), { text: 'done' })
    const { updates } = await engine.prompt('give me a file')
    expect(callsOf(updates)).toEqual([
      { call: 'present_file failed', text: expect.stringContaining('there is no berth-present') },
    ])
  })
})

describe('the to-do list', () => {
  const items = (...statuses: string[]) => statuses.map((status, n) => ({ content: `Step ${n}`, status }))
  const plans = (updates: Engine['updates']) =>
    updates.flatMap(update =>
      update.sessionUpdate === 'plan' ? [update.entries.map(({ status }) => status).join()] : [],
    )

  test('is told as the plan, and is there after a restart and after a compaction', async () => {
    engine = await openEngine({ model: { context_length: 20_000 } })
    const { gateway } = engine
    gateway.next(
      call('todo', { items: items('in_progress', 'pending') }),
      call('todo', { items: items('completed', 'in_progress') }),
      saysUsing({ text: 'So far.' }, 5500, 10),
      saysUsing({ text: 'More.' }, 11_000, 10),
      { text: 'SUMMARY OF IT' },
      { text: 'done' },
    )
    const first = await engine.prompt('A swan, and more. '.repeat(1300))
    expect(plans(first.updates)).toEqual(['in_progress,pending', 'completed,in_progress'])
    expect(callsOf(first.updates).at(-1)).toEqual({
      call: 'todo completed',
      text: 'The list is kept: 1 of 2 completed.',
    })
    const before = engine.updates.length
    await engine.restart()
    expect(plans(engine.updates.slice(before))).toEqual(['completed,in_progress'])
    await engine.prompt('A goose, and more. '.repeat(1300))
    await engine.prompt('/compact')
    await engine.prompt('go on')
    const last = inputOf(gateway.requests.at(-1))
    expect(last).toContain('SUMMARY OF IT')
    expect(last).not.toContain('A swan, and more.')
    expect(last).toContain('Your to-do list, as it stands:\\n[x] Step 0\\n[~] Step 1')
  })

  test('is not repeated after a compaction once all is done, and is gone with the conversation', async () => {
    engine = await openEngine({ model: { context_length: 20_000 } })
    engine.gateway.next(
      call('todo', { items: items('completed') }),
      saysUsing({ text: 'So far.' }, 5500, 10),
      saysUsing({ text: 'More.' }, 11_000, 10),
      { text: 'SUMMARY OF IT' },
      { text: 'done' },
    )
    await engine.prompt('A swan, and more. '.repeat(1300))
    await engine.prompt('A goose, and more. '.repeat(1300))
    await engine.prompt('/compact')
    await engine.prompt('go on')
    expect(inputOf(engine.gateway.requests.at(-1))).not.toContain('Your to-do list')
    await engine.prompt('/clear')
    const before = engine.updates.length
    await engine.restart()
    expect(plans(engine.updates.slice(before))).toEqual([])
  })

  test('refuses a step without a status', async () => {
    engine = await openEngine()
    engine.gateway.next(call('todo', { items: [{ content: 'Look' }] }), { text: 'done' })
    const { updates } = await engine.prompt('go')
    expect(callsOf(updates)).toMatchObject([{ call: 'todo failed' }])
    expect(plans(updates)).toEqual([])
  })
})

describe('delegating', () => {
  test('runs a sub-agent with its own context, and marks its calls', async () => {
    engine = await openEngine()
    engine.gateway.next(
      call('delegate', { task: 'Count the files' }),
      call('bash', { command: 'echo 3' }),
      { text: 'There are 3.' },
      { text: 'Three files.' },
    )
    const turn = await engine.prompt('How many?')
    expect(turn).toMatchObject({ stopReason: 'completed', turns: 4 })
    expect(textOf(turn.updates)).toBe('Three files.')
    expect(callsOf(turn.updates)).toEqual([
      { call: 'bash completed', text: '3\n' },
      { call: 'delegate completed', text: 'There are 3.' },
    ])
    const [event, end] = turn.reported
    expect(event).toMatchObject({ type: 'delegation_started', data: { task: 'Count the files' } })
    expect(end).toMatchObject({
      type: 'delegation_completed',
      data: { delegationId: event?.data['delegationId'], status: 'completed', summary: 'There are 3.' },
    })
    const bash = turn.updates.find(update => update.sessionUpdate === 'tool_call' && update.name === 'bash')
    expect(bash?._meta).toEqual({ berth: { delegationId: event?.data['delegationId'] } })
    // The sub-agent knows its task but not the conversation, and cannot ask people.
    const [, second] = engine.gateway.requests
    expect(inputOf(second)).toContain('Count the files')
    expect(inputOf(second)).not.toContain('How many?')
    expect(toolsOf(second)).toEqual(['bash', 'edit', 'fetch', 'list', 'present_file', 'read', 'search', 'write'])
  })

  test('reports a sub-agent that failed', async () => {
    engine = await openEngine()
    engine.gateway.next(
      call('delegate', { task: 'x' }),
      (_, response) => void response.writeHead(400).end('{"error":{"code":"bad","message":"bad"}}'),
      { text: 'done' },
    )
    const turn = await engine.prompt('go')
    expect(turn.reported).toMatchObject([
      { type: 'delegation_started' },
      { type: 'delegation_completed', data: { status: 'failed' } },
    ])
    expect(callsOf(turn.updates)).toEqual([
      { call: 'delegate failed', text: 'The sub-agent failed: model_request_refused.' },
    ])
  })
})
