import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine } from './support/engine.ts'
import { call, inputOf } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const done = { text: 'done' }
const start = (command: string) => call('bash', { command, background: true })
const background = (action: string, more: object = {}) => call('background', { id: 'b1', action, ...more })
const at = (name: string) => join(engine.workspace, name)
const release = (name: string) => writeFileSync(at(name), '')
const waitFor = (name: string) => `until [ -e ${name} ]; do sleep 0.05; done`
const pidOf = async (name: string) => {
  await until(() => existsSync(at(name)) && readFileSync(at(name), 'utf8').endsWith('\n'))
  return Number(readFileSync(at(name), 'utf8'))
}
const isAlive = (pid: number) => existsSync(`/proc/${pid}`)
const textsOf = (updates: Engine['updates']) => callsOf(updates).map(({ text }) => text)
const lists = () =>
  engine.reported
    .filter(({ type }) => type === 'background_updated')
    .map(({ data }) =>
      (data['commands'] as { id: string; status: string }[]).map(({ id, status }) => `${id} ${status}`).join(),
    )

test('a command goes on while the agent works; its output is read on, waited for, and its end told at the next step', async () => {
  engine = await openEngine()
  engine.gateway.next(
    start(`echo begun; ${waitFor('go')}; echo over; exit 3`),
    background('wait', { text: 'begun' }),
    call('bash', { command: 'touch go; while [ ! -e seen ]; do sleep 0.05; done' }),
    background('read', { after: 0 }),
    done,
  )
  const turn = engine.prompt('go')
  await until(() => lists().at(-1) === 'b1 exited')
  release('seen')
  const { updates } = await turn
  expect(textsOf(updates)).toEqual([
    'It runs in the background as b1.',
    'begun\n[b1 is running; 0 bytes more, after 6]',
    '(no output)',
    'begun\nover\n[b1 has ended with exit code 3; 0 bytes more, after 11]',
  ])
  expect(inputOf(engine.gateway.requests[2])).not.toContain('has ended with exit code')
  expect(inputOf(engine.gateway.requests[3])).toContain('The background command b1 has ended with exit code 3.')
  expect(lists()).toEqual(['b1 running', 'b1 exited'])
})

test('one that prints 100 MB is kept in part, and says how much is missing', async () => {
  engine = await openEngine()
  engine.gateway.next(
    start('head -c 100000000 /dev/zero | tr "\\0" x; echo; echo end'),
    background('wait', { seconds: 300 }),
    background('read', { after: 100_000_000 }),
    done,
  )
  const [, cut = '', end] = textsOf((await engine.prompt('go')).updates)
  expect(cut).toMatch(
    /^\[\d{8} bytes are not kept any more\]\nx+\n\[b1 has ended with exit code 0; \d+ bytes more, after \d+\]$/,
  )
  expect(cut.length).toBeLessThan(60_000)
  expect(end).toBe('\nend\n[b1 has ended with exit code 0; 0 bytes more, after 100000005]')
})

test('stopping one ends every process that it has begun, also those that left its group', async () => {
  engine = await openEngine()
  const fork =
    'setsid bash -c "echo \\$\\$ > far; exec sleep 600" & (setsid sleep 600 & echo $! > farther) ; echo $$ > near; wait'
  engine.gateway.next(
    start(fork),
    call('bash', { command: 'while [ ! -s far ] || [ ! -s farther ] || [ ! -s near ]; do sleep 0.05; done' }),
    background('stop'),
    done,
  )
  const { updates } = await engine.prompt('go')
  expect(textsOf(updates).at(-1)).toBe('[b1 was stopped; 0 bytes more, after 0]')
  // A process that was killed is there until its parent has taken note of it.
  for (const pid of await Promise.all(['near', 'far', 'farther'].map(pidOf))) await until(() => !isAlive(pid))
  expect(lists()).toEqual(['b1 running', 'b1 stopped'])
})

test('one outlives the prompt, and the next prompt hears that it has ended', async () => {
  engine = await openEngine()
  engine.gateway.next(start(`echo $$ > pid; ${waitFor('go')}`), done)
  await engine.prompt('go')
  expect(isAlive(await pidOf('pid'))).toBe(true)
  release('go')
  await until(() => lists().at(-1) === 'b1 exited')
  await engine.prompt('on')
  expect(inputOf(engine.gateway.requests.at(-1))).toContain('The background command b1 has ended with exit code 0.')
  await engine.prompt('and on')
  expect(inputOf(engine.gateway.requests.at(-1)).split('has ended with exit code 0.')).toHaveLength(2)
})

test('cancelling ends all of them, before the prompt is answered', async () => {
  engine = await openEngine()
  engine.gateway.next(
    start('trap "" TERM; echo $$ > pid; sleep 600'),
    call('bash', { command: 'touch here; sleep 600' }),
    done,
  )
  const turn = engine.prompt('go')
  const pid = await pidOf('pid')
  await until(() => existsSync(at('here')))
  await engine.cancel()
  expect(await turn).toMatchObject({ stopReason: 'aborted' })
  expect(isAlive(pid)).toBe(false)
  expect(lists().at(-1)).toBe('b1 stopped')
  await engine.prompt('on')
  expect(inputOf(engine.gateway.requests.at(-1))).toContain('The background command b1 was stopped, and not by you.')
})

/** Starts a process that has neither the group nor the variables of its command, and holds its output. */
const escaping = 'env -i setsid sleep 600 & echo $! > escaped'
const hasEscaped = call('bash', {
  command: 'until [ -s escaped ] && grep -q sleep /proc/$(cat escaped)/comm; do sleep 0.05; done; touch here',
})

test('stopping one ends although a process that escaped holds its output, and says so', async () => {
  engine = await openEngine()
  engine.gateway.next(start(escaping), hasEscaped, background('stop'), done)
  const { updates } = await engine.prompt('go')
  process.kill(await pidOf('escaped'))
  expect(textsOf(updates).at(-1)).toBe(
    '[b1 was stopped, but a process that it began could not be found and may still run; 0 bytes more, after 0]',
  )
  expect(lists().at(-1)).toBe('b1 stopped')
})

test('a process that escaped holds up no cancelled prompt', async () => {
  engine = await openEngine()
  engine.gateway.next(start(escaping), hasEscaped, call('bash', { command: 'sleep 600' }), done)
  const turn = engine.prompt('go')
  await until(() => existsSync(at('here')))
  await engine.cancel()
  expect(await turn).toMatchObject({ stopReason: 'aborted' })
  process.kill(await pidOf('escaped'))
  expect(lists().at(-1)).toBe('b1 stopped')
})

test('cancelling also ends what commands have left that are not listed any more', async () => {
  engine = await openEngine()
  const more = Array.from({ length: 17 }, (_, index) => [
    start('true'),
    call('background', { id: `b${index + 2}`, action: 'wait' }),
  ]).flat()
  engine.gateway.next(
    start('setsid sleep 600 > out 2>&1 & echo $! > left'),
    background('wait'),
    ...more,
    call('bash', { command: 'touch here; sleep 600' }),
    done,
  )
  const turn = engine.prompt('go')
  await until(() => existsSync(at('here')))
  const pid = await pidOf('left')
  expect([isAlive(pid), lists().at(-1)?.includes('b1 ')]).toEqual([true, false])
  await engine.cancel()
  await turn
  await until(() => !isAlive(pid))
})

test('what an agent leaves that is killed is ended by the next, which says that it is gone', async () => {
  engine = await openEngine()
  engine.gateway.next(start('echo $$ > pid; exec sleep 600'), done)
  await engine.prompt('go')
  const pid = await pidOf('pid')
  await engine.restart()
  await until(() => !isAlive(pid))
  engine.gateway.next(start('true'), done)
  await engine.prompt('on')
  expect(inputOf(engine.gateway.requests.at(-1))).toContain(
    'The background command b1 is gone: the sandbox was restarted.',
  )
  expect(lists().at(-1)).toMatch(/^b2 /)
})

test('there are at most eight at once, and an unknown id is told those that there are', async () => {
  engine = await openEngine()
  const many = {
    calls: Array.from({ length: 9 }, () => ({ name: 'bash', args: { command: 'sleep 600', background: true } })),
  }
  engine.gateway.next(many, call('background', { id: 'b12', action: 'read' }), done)
  const { updates } = await engine.prompt('go')
  const calls = callsOf(updates)
  expect(calls.filter(({ text }) => text.startsWith('It runs'))).toHaveLength(8)
  expect(calls.some(({ text }) => text.startsWith('8 background commands run already'))).toBe(true)
  expect(calls.at(-1)?.text).toMatch(/^There is no background command b12\. Those that there are: b1, b2/)
})

test('an end that the model was not told of outlives a restart, and is told once', async () => {
  engine = await openEngine()
  engine.gateway.next(start('exit 3'), start(waitFor('go')), done)
  await engine.prompt('go')
  release('go')
  await until(() => lists().at(-1)?.endsWith('b2 exited') === true)
  await engine.restart()
  await engine.restart()
  engine.gateway.next(start('true'), done)
  await engine.prompt('on')
  const reported = inputOf(engine.gateway.requests.at(-1))
  expect(reported.split('The background command b1 has ended with exit code 3.')).toHaveLength(2)
  expect(reported.split('The background command b2 has ended with exit code 0.')).toHaveLength(2)
  expect(lists().at(-1)).toMatch(/^b3 /)
  await engine.restart()
  await engine.prompt('and on')
  expect(inputOf(engine.gateway.requests.at(-1)).split('The background command b2 has')).toHaveLength(2)
})

test('an end that the model saw by itself is not told after a restart, nor is its id given again', async () => {
  engine = await openEngine()
  engine.gateway.next(start('true'), background('wait'), done)
  await engine.prompt('go')
  await engine.restart()
  engine.gateway.next(start('true'), done)
  await engine.prompt('on')
  expect(inputOf(engine.gateway.requests.at(-1))).not.toContain('The background command b1')
  expect(lists().at(-1)).toMatch(/^b2 /)
})

test('a conversation loads whatever its file says of commands and of the to-do list', async () => {
  engine = await openEngine()
  engine.gateway.next(done)
  await engine.prompt('go')
  const file = join(engine.home, '.berth', 'sessions', `${engine.sessionId}.jsonl`)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  let parentId = (JSON.parse(lines.at(-1) ?? '') as { id: string }).id
  const append = (customType: string, data: unknown) => {
    const id = `${customType}${parentId}`
    const entry = { type: 'custom', customType, data, id, parentId, timestamp: new Date().toISOString() }
    appendFileSync(file, `${JSON.stringify(entry)}\n`)
    parentId = id
  }
  const bad = [null, 'b1', [], {}, { id: 7 }, { id: 'b1', command: {}, status: 'running' }]
  const good = { id: 'b4', command: 'x'.repeat(100_000), status: 'running' }
  append('background', {
    commands: [...bad, good],
    unreported: [...bad, { id: 'x', command: '', status: 'gone' }],
    begun: 4,
  })
  append('todo', { items: [...bad, { content: 'Test', status: 'pending' }, { content: 'x', status: 'lost' }] })
  await engine.restart()
  expect(engine.updates.at(-1)).toMatchObject({ sessionUpdate: 'plan', entries: [{ content: 'Test' }] })
  engine.gateway.next(start('true'), done)
  await engine.prompt('on')
  const input = inputOf(engine.gateway.requests.at(-1))
  expect(input).toContain('The background command b4 is gone')
  expect(input.length).toBeLessThan(50_000)
  expect(lists().at(-1)).toMatch(/^b5 /)
  append('background', { commands: null, begun: 'many', unreported: 7 })
  append('todo', { items: 'none' })
  await engine.restart()
})

test('of a long command only the beginning is listed and told', async () => {
  engine = await openEngine()
  const long = `true ${'é'.repeat(60_000)}`
  engine.gateway.next(start(long), done)
  await engine.prompt('go')
  await until(() => lists().at(-1) === 'b1 exited')
  const { reported } = await engine.prompt('on')
  const commands = reported.at(-1)?.data['commands'] as { command: string }[] | undefined
  const command = commands?.[0]?.command ?? ''
  expect([command.slice(0, 7), command.slice(-6)]).toEqual(['true éé', 'éé […]'])
  expect(Buffer.byteLength(command)).toBeLessThanOrEqual(500)
  expect(inputOf(engine.gateway.requests.at(-1)).split(long)).toHaveLength(2)
})

test('one with a timeout is refused, and none is started', async () => {
  engine = await openEngine()
  engine.gateway.next(call('bash', { command: 'touch there', background: true, timeout: 5 }), done)
  const { updates } = await engine.prompt('go')
  expect(callsOf(updates)).toEqual([{ call: 'bash failed', text: expect.stringContaining('has no timeout') }])
  expect(lists()).toEqual([])
})

test('while it plans, the agent can read and stop what runs', async () => {
  engine = await openEngine()
  engine.gateway.next(start('echo begun; sleep 600'), background('wait', { text: 'begun' }), done)
  await engine.prompt('go')
  engine.gateway.next(background('read', { after: 0 }), background('stop'), done)
  const { updates } = await engine.prompt('/plan\nWhat next?')
  expect(textsOf(updates)).toEqual([
    'begun\n[b1 is running; 0 bytes more, after 6]',
    '[b1 was stopped; 0 bytes more, after 6]',
  ])
})
