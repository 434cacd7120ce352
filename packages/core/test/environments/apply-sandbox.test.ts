import { Applying, appliesIn, outputIn, outputs, waitFor } from '@berth/testing/environments/applying.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const stack = new AsyncDisposableStack()
let applying: Applying
beforeAll(async () => {
  // bound: callers are to wait in vain for so long
  applying = stack.use(await Applying.open({ workspaceWaitMs: 1000 }))
  // bound: a pause between two looks
  await applying.resuming.work(stack, { limits: { pulseMs: 100 } })
})
afterAll(() => stack.disposeAsync())

const eventsOf = (id: string) => applying.api.events(id)

describe('the output of setup', () => {
  test('is told while setup runs', async () => {
    const session = await applying.session(`printf 'no line yet'; ${waitFor('go')}; echo; echo end`, 'true')
    await applying.wrote(session, 'no line yet')
    expect(await applying.steps(session)).toEqual(['1 started'])
    await applying.go(session)
    await applying.resuming.ended(session)
    const events = await eventsOf(session.id)
    expect(outputIn(events)).toBe('no line yet\nend\n')
    for (const { type, visibility } of events) {
      if (type === 'svc.environment.output') expect(visibility).toBe('transcript')
    }
  })

  test('is bounded, however much it is, and cut between characters', async () => {
    const session = await applying.session("yes 'über alle Maßen' | head -n 5000000; echo last", 'true')
    await applying.resuming.ended(session)
    const events = await eventsOf(session.id)
    const text = outputIn(events)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(128 * 1024)
    expect(Buffer.byteLength(text)).toBeGreaterThan(127 * 1024)
    const tail = String(appliesIn(events)[1]?.['outputTail'])
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(8 * 1024)
    expect(Buffer.byteLength(tail)).toBeGreaterThan(8 * 1024 - 4)
    expect(tail.endsWith('\nüber alle Maßen\nlast\n')).toBe(true)
    expect(text + tail).not.toContain('\uFFFD')
  })
})

describe('a sandbox that is set up', () => {
  const server = [
    "const { createServer } = require('node:http')",
    'createServer((_, answer) => {',
    "  process.stdout.write('asked '.repeat(20000))",
    "  answer.end('served')",
    "}).listen(8099, '127.0.0.1')",
  ].join('\n')
  const serve = [
    `echo "${server}" > server.cjs`,
    '/opt/berth/node server.cjs &',
    'until (echo > /dev/tcp/127.0.0.1/8099) 2>/dev/null; do sleep 0.05; done',
  ].join('\n')
  const ask = 'for n in 1 2 3; do curl -s --max-time 20 http://127.0.0.1:8099/; done'

  test('keeps what setup left running, also after a cancelled Run', async () => {
    const session = await applying.session(serve, `${ask}; ${waitFor('never')}`)
    await until('a running run', async () => (await applying.api.session(session.id)).phase === 'running')
    await applying.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    await applying.resuming.settled(session)
    const { events } = await applying.resuming.next(session, ask)
    expect(outputs(events)).toEqual(['servedservedserved'])
    expect(await applying.steps(session)).toEqual(['1 started', '1 succeeded'])
  })

  test('is set up again over restored work, and setup can tell', async () => {
    const session = await applying.session('echo "$BERTH_RESTORED" >> count', 'cat count; env | grep BERTH_R')
    const first = await applying.resuming.settled(session, session.activeRunId)
    expect(outputs(first.events)).toEqual(['\n'])
    await applying.resuming.expire(session)
    const { events } = await applying.resuming.next(session, 'cat count')
    expect(outputs(events)).toEqual(['\ntrue\n'])
    expect(await applying.steps(session)).toEqual(['1 started', '1 succeeded', '2 started', '2 succeeded'])
  })

  test('is asked for with a long setup: the first call says that it is starting, a later one answers', async () => {
    const session = await applying.session(`echo begun; ${waitFor('go')}`)
    const call = async () => outcome(await applying.api.put(`/v1/sessions/${session.id}/workspace`, {}))
    expect(await call()).toBe('503 cloud_workspace_starting')
    await applying.wrote(session, 'begun')
    expect((await applying.api.session(session.id)).workspace.state).toBe('unavailable')
    await applying.go(session)
    await until('an attached workspace', async () => (await call()) === '200')
    expect(await applying.steps(session)).toEqual(['1 started', '1 succeeded'])
    for (const { subject } of await eventsOf(session.id)) expect(subject).toEqual({ sessionId: session.id })
    const { events } = await applying.resuming.next(session, 'echo on it')
    expect(outputs(events)).toEqual(['on it\n'])
    expect(await applying.steps(session)).toEqual(['1 started', '1 succeeded'])
  })

  test('keeps its revision and its secrets until the next one, also in a later agent process', async () => {
    const document = (text: string) => ({ setup: `echo ${text} > setup`, variables: { V: text } })
    const made = await applying.environments.make(document('one'))
    await applying.environments.writeSecret(made.id, 'TOKEN1', 'first value', made.revision)
    const inspection = 'cat setup; echo "$V"; printf "%s" "$TOKEN1" | wc -c'
    const session = await applying.sessionOf(made, inspection)
    const first = await applying.resuming.settled(session, session.activeRunId)
    expect(outputs(first.events)).toEqual(['one\none\n11\n'])
    await applying.environments.put(made.id, { name: made.name, ...document('two') }, 2)
    await applying.environments.writeSecret(made.id, 'TOKEN1', 'the second value', 3)
    await applying.db.query('update environment_secrets set sealed = null where ended_at is not null')
    const { run } = await applying.api.submitTurn(session.id, 'kill -9 $PPID; sleep 600')
    await applying.api.runEnded(session.id, run.id)
    const again = await applying.resuming.next(session, inspection)
    expect(outputs(again.events)).toEqual(['one\none\n11\n'])
    expect((await applying.api.session(session.id)).environment).toMatchObject({ revision: 2 })
    await applying.resuming.expire(session)
    const fresh = await applying.resuming.next(session, inspection)
    expect(outputs(fresh.events)).toEqual(['two\ntwo\n16\n'])
    expect((await applying.api.session(session.id)).environment).toMatchObject({ revision: 4 })
  })

  test('stays as it is if its Session is bound to another environment meanwhile', async () => {
    const session = await applying.session(`echo begun; ${waitFor('go')}`, 'true')
    await applying.wrote(session, 'begun')
    const other = await applying.environments.make({ setup: 'echo other' })
    await applying.api.call('PATCH', `/v1/sessions/${session.id}`, { environment: { id: other.id } })
    await applying.go(session)
    await applying.resuming.settled(session, session.activeRunId)
    expect(outputIn(await eventsOf(session.id))).toBe('begun\n')
    const { id, name } = other
    expect((await applying.api.session(session.id)).environment).toEqual({ id, name, revision: null })
  })
})
