import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendJson } from '@berth/client/testing'
import { afterAll, expect, test } from 'vitest'
import { type BerthOptions, BerthProcess } from './berth-process.ts'
import { run, ScriptedService, session } from './scripted-service.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
afterAll(() => rmSync(cwd, { recursive: true }))

const berth = (service: ScriptedService, args: readonly string[], options: Partial<BerthOptions> = {}) =>
  new BerthProcess(args, { cwd, env: service.env, ...options })

test('run creates a session with its first turn, and prints its URL', async () => {
  await using service = await ScriptedService.start()
  const it = berth(service, ['run', '--runtime', 'shell', '--title', 't', '--budget', '2.50', 'echo hi'])
  expect(await it.ended()).toBe(0)
  expect(it.lines).toEqual([`session ${session.id} ${session.sessionUrl}`])
  expect(service.taken).toHaveLength(1)
  expect(service.taken[0]).toMatchObject({
    method: 'PUT',
    body: { runtime: 'shell', title: 't', budget: { costUsd: 2.5 }, initialTurn: { message: 'echo hi' } },
  })
  expect(Object.keys(service.taken[0]?.body ?? {}).sort()).toEqual(['budget', 'initialTurn', 'runtime', 'title'])
})

test('run takes --branch for --base, and not two different ones', async () => {
  await using service = await ScriptedService.start()
  const two = berth(service, ['run', '--repository', 'a/b', '--base', 'one', '--branch', 'two', 'x'])
  expect(await two.ended()).toBe(2)
  expect(two.stderr).toContain('--branch is the same as --base; give one of them')
  const alone = berth(service, ['run', '--branch', 'two', 'x'])
  expect(await alone.ended()).toBe(2)
  expect(alone.stderr).toContain('--base needs --repository')
  expect(service.taken).toEqual([])
})

test('run --session sends a turn with files, and its message from standard input', async () => {
  await using service = await ScriptedService.start()
  writeFileSync(join(cwd, 'note.txt'), 'héllo')
  const args = ['run', '--session', session.id, '--file', 'note.txt', '--file', 'note.txt', '--json', '-']
  const it = berth(service, args, { stdin: 'read it\n' })
  expect(await it.ended()).toBe(0)
  expect(JSON.parse(it.stdout)).toMatchObject({ sessionId: session.id, runId: run.id })
  const file = { name: 'note.txt', content: Buffer.from('héllo').toString('base64') }
  expect(service.taken.at(-1)?.body).toEqual({ message: 'read it\n', files: [file, file] })
})

test('run --update-from-base has the base merged first, in a session that there is', async () => {
  await using service = await ScriptedService.start()
  const it = berth(service, ['run', '--session', session.id, '--update-from-base', 'go on'])
  expect(await it.ended()).toBe(0)
  expect(service.taken.at(-1)?.body).toEqual({ message: 'go on', updateFromBase: true })
  const alone = berth(service, ['run', '--update-from-base', 'begin'])
  expect(await alone.ended()).toBe(2)
  expect(alone.stderr).toContain('--update-from-base needs --session: a new session begins at the newest commit')
})

test('a message and a schema that are not UTF-8 are refused before anything is sent', async () => {
  await using service = await ScriptedService.start()
  const latin1 = Buffer.from('{"title":"caf\xe9"}', 'latin1')
  writeFileSync(join(cwd, 'latin1.json'), latin1)
  const message = berth(service, ['run', '-'], { stdin: latin1 })
  expect(await message.ended()).toBe(2)
  expect(message.stderr).toContain('cannot read the message: it is not UTF-8; convert it first')
  const schema = berth(service, ['run', '--output-schema', 'latin1.json', 'x'])
  expect(await schema.ended()).toBe(2)
  expect(schema.stderr).toContain('cannot read latin1.json: it is not UTF-8')
  expect(service.taken).toEqual([])
})

test('a new session with files is made without a title, and gets the files with its first turn', async () => {
  await using service = await ScriptedService.start()
  writeFileSync(join(cwd, 'note.txt'), 'x')
  const it = berth(service, ['run', '--file', 'note.txt', 'look'])
  expect(await it.ended()).toBe(0)
  const [create, , turn] = service.taken
  expect(create?.body).toEqual({})
  expect(turn?.path).toMatch(/\/turns\/[0-9a-f-]{36}$/)
})

test('run --output-schema sends the schema of the file, prints the value, and refuses a file that holds none', async () => {
  await using service = await ScriptedService.start()
  const schema = { type: 'object', properties: { sum: { type: 'number' } } }
  writeFileSync(join(cwd, 'schema.json'), JSON.stringify(schema))
  const it = berth(service, ['run', '--output-schema', 'schema.json', '--follow', 'add up'])
  await it.shows('stdout', 'session ')
  service.append('svc.run.started', { status: 'running', attempt: 1 })
  service.append('svc.run.completed', { status: 'completed', result: { output: { sum: 3 } } })
  expect(await it.ended()).toBe(0)
  expect(service.taken[0]?.body).toMatchObject({ initialTurn: { message: 'add up', output: { schema } } })
  expect(it.lines.at(-1)).toMatch(/svc\.run\.completed .*\{"sum":3\}$/)
  for (const [content, text] of [
    ['[]', 'is not a JSON Schema'],
    ['{', 'is not JSON'],
  ] as const) {
    writeFileSync(join(cwd, 'schema.json'), content)
    const refused = berth(service, ['run', '--output-schema', 'schema.json', 'add up'])
    expect(await refused.ended()).toBe(2)
    expect(refused.stderr).toContain(text)
  }
})

test.each([
  ['completed', 0],
  ['failed', 1],
  ['crashed', 1],
  ['cancelled', 130],
])('run --follow prints plain lines to the end, and a run that ended as %s exits with %i', async (status, code) => {
  await using service = await ScriptedService.start()
  const it = berth(service, ['run', '--follow', 'hi'])
  await it.shows('stdout', 'session ')
  service.append('svc.run.started', { status: 'running', attempt: 1 })
  service.append('svc.message.created', { role: 'assistant', text: 'one\n\u001b[2Jtwo' })
  service.append(`svc.run.${status}`, { status })
  expect(await it.ended()).toBe(code)
  expect(it.lines.slice(1)).toEqual([
    '1 svc.run.started attempt 1',
    '2 svc.message.created assistant: one\\n␛[2Jtwo',
    `3 svc.run.${status}`,
  ])
  expect(it.stderr).toBe('')
})

test('run --follow --json prints the events and nothing else', async () => {
  await using service = await ScriptedService.start()
  service.append('svc.run.started', { attempt: 1 })
  service.append('svc.run.completed', { status: 'completed' })
  const it = berth(service, ['run', '--follow', '--json', 'hi'])
  expect(await it.ended()).toBe(0)
  expect(it.lines.map(line => JSON.parse(line).sequence)).toEqual([1, 2])
})

test('a turn of an existing session is followed from the end of the earlier log', async () => {
  await using service = await ScriptedService.start(({ path }) => {
    if (path.includes('/turns/')) service.append('svc.run.completed', { status: 'completed' })
  })
  service.append('svc.run.failed', { status: 'failed' })
  const it = berth(service, ['run', '--session', session.id, '-f', 'again'])
  expect(await it.ended()).toBe(0)
  expect(it.lines.slice(1)).toEqual(['2 svc.run.completed'])
})

test('the first interrupt cancels the run and waits for its end', async () => {
  await using service = await ScriptedService.start(({ path }) => {
    if (path.endsWith('/cancel')) service.append('svc.run.cancelled', { status: 'cancelled' })
  })
  const it = berth(service, ['run', '--follow', 'hi'])
  await it.shows('stdout', 'session ')
  service.append('svc.run.started', { attempt: 1 })
  await it.shows('stdout', 'svc.run.started')
  it.interrupt()
  expect(await it.ended()).toBe(130)
  expect(it.lines.at(-1)).toBe('2 svc.run.cancelled')
  expect(service.taken.map(({ path }) => path)).toContain(`/v1/sessions/${session.id}/runs/${run.id}/cancel`)
})

test('a run that completes despite the cancellation exits with 0', async () => {
  await using service = await ScriptedService.start(({ path }) => {
    if (path.endsWith('/cancel')) service.append('svc.run.completed', { status: 'completed' })
  })
  const it = berth(service, ['run', '--follow', 'hi'])
  await it.shows('stdout', 'session ')
  it.interrupt()
  expect(await it.ended()).toBe(0)
})

test('the second interrupt exits, even if the request to cancel gets no answer', async () => {
  await using service = await ScriptedService.start(({ path }) => (path.endsWith('/cancel') ? 'no answer' : undefined))
  const it = berth(service, ['run', '--follow', 'hi'])
  await it.shows('stdout', 'session ')
  it.interrupt()
  await it.shows('stderr', 'cancelling')
  it.interrupt()
  expect(await it.ended()).toBe(130)
})

test('an interrupt during the admission cancels the run that follows', async () => {
  const admitting = Promise.withResolvers<() => void>()
  await using service = await ScriptedService.start(({ path, method }, response) => {
    if (path.endsWith('/cancel')) service.append('svc.run.cancelled', { status: 'cancelled' })
    if (method !== 'PUT') return undefined
    admitting.resolve(() => sendJson(response, 201, { session: { ...session, activeRunId: run.id } }))
    return 'later'
  })
  const it = berth(service, ['run', '--follow', 'hi'])
  const admit = await admitting.promise
  it.interrupt()
  await it.shows('stderr', 'cancel')
  admit()
  expect(await it.ended()).toBe(130)
  expect(it.lines.at(-1)).toBe('1 svc.run.cancelled')
})

test.each([
  [['run'], /missing required argument/],
  [['run', ''], /the message is empty/],
  [['run', '--bogus', 'x'], /unknown option/],
  [['run', '--session', 's', '--model', 'm', 'x'], /--repository are for a new session/],
  [['run', '--session', 's', '--budget', 'none', 'x'], /--budget, .*--repository are for a new session/],
  [['run', '--budget', '-1', 'x'], /Not a number above 0/],
  [['run', '--effort', 'much', 'x'], /Allowed choices are minimal, low, medium, high, max/],
  [['run', '--file', 'missing.txt', 'x'], /cannot attach missing.txt: .*ENOENT/],
  [['run', '--file', '.', 'x'], /cannot attach \.: not a file/],
  [['events', 's', '--after', '-1'], /Not a whole number/],
  [['bogus'], /unknown command/],
])('%j is a usage error and sends no request', async (args, line) => {
  await using service = await ScriptedService.start()
  const it = berth(service, args)
  expect(await it.ended()).toBe(2)
  expect(it.stderr).toMatch(line)
  expect(it.stderr).toMatch(/^berth: /)
  expect(service.taken).toEqual([])
})
