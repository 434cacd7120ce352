import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine } from './support/engine.ts'
import { call, inputOf } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const done = { text: 'done' }
const start = (command: string) => call('bash', { command, background: true })
const look = (action: string, more: object = {}) => call('background', { id: 'b1', action, ...more })
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
  engine.told
    .filter(({ type }) => type === 'background_updated')
    .map(({ data }) =>
      (data['commands'] as { id: string; status: string }[]).map(({ id, status }) => `${id} ${status}`).join(),
    )

test('a command goes on while the agent works; its output is read on, waited for, and its end told at the next step', async () => {
  engine = await openEngine()
  engine.gateway.next(
    start(`echo begun; ${waitFor('go')}; echo over; exit 3`),
    look('wait', { text: 'begun' }),
    call('bash', { command: 'touch go; while [ ! -e seen ]; do sleep 0.05; done' }),
    look('read', { after: 0 }),
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
    look('wait', { seconds: 300 }),
    look('read', { after: 100_000_000 }),
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
    look('stop'),
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
