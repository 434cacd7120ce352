import { afterEach, expect, test } from 'vitest'
import { type Engine, openEngine } from './support/engine.ts'
import { framesOf, type ModelReply } from './support/responses-wire.ts'
import { type Behaviour, call, type ModelRequest, streamsUntil } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const done = { text: 'done' }
const list = call('list', {})

/** A reply that the model gives once the test says so. */
function held(reply: ModelReply): { readonly behaviour: Behaviour; answer(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const behaviour: Behaviour = async (_, response) => {
    await promise
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const frame of framesOf(reply)) response.write(frame)
    response.end()
  }
  return { behaviour, answer: resolve }
}

/** Returns the kinds of a request's items, with the text of the user's messages. */
function itemsOf(request: ModelRequest | undefined): string[] {
  const { input = [] } = (request?.body ?? {}) as {
    input?: { type?: string; role?: string; content?: { text: string }[] }[]
  }
  return input
    .filter(({ role }) => role !== 'developer' && role !== 'system')
    .map(({ type, role, content = [] }) => (role === 'user' ? content.map(({ text }) => text).join() : (type ?? '')))
}

test('messages join after the results of the step under way, in order', async () => {
  engine = await openEngine()
  const first = held(list)
  engine.gateway.next(first.behaviour, done)
  const turn = engine.prompt('begin')
  await until(() => engine.gateway.requests.length === 1)
  const taken = [engine.steer('one', 'rather this'), engine.steer('two', 'and that')]
  await engine.heard()
  first.answer()
  expect(await Promise.all(taken)).toEqual([true, true])
  expect(await turn).toMatchObject({ stopReason: 'completed', turns: 2 })
  expect(itemsOf(engine.gateway.requests[1])).toEqual([
    'begin',
    'function_call',
    'function_call_output',
    'rather this',
    'and that',
  ])
})

test('a message that comes with the last answer is worked on by the same prompt', async () => {
  engine = await openEngine()
  const last = held(done)
  engine.gateway.next(last.behaviour, done)
  const turn = engine.prompt('begin')
  await until(() => engine.gateway.requests.length === 1)
  const taken = engine.steer('one', 'one more thing')
  await engine.heard()
  last.answer()
  expect([await taken, (await turn).turns]).toEqual([true, 2])
  expect(itemsOf(engine.gateway.requests[1])).toEqual(['begin', 'message', 'one more thing'])
})

test('a message that the conversation has is not put there twice, also by the next process', async () => {
  engine = await openEngine()
  const first = held(list)
  engine.gateway.next(first.behaviour, done)
  const turn = engine.prompt('begin')
  await until(() => engine.gateway.requests.length === 1)
  const taken = engine.steer('one', 'rather this')
  await engine.heard()
  first.answer()
  await Promise.all([taken, turn])
  await engine.restart()
  expect(await engine.steer('one', 'rather this')).toBe(true)
  await engine.prompt('go on')
  const items = itemsOf(engine.gateway.requests[2])
  expect(items.filter(item => item === 'rather this')).toHaveLength(1)
})

test('a message that a limit keeps out is not worked on', async () => {
  engine = await openEngine()
  const first = held(list)
  engine.gateway.next(first.behaviour, done)
  const turn = engine.prompt('begin', { budgets: { turns: 1 } })
  await until(() => engine.gateway.requests.length === 1)
  const taken = engine.steer('one', 'rather this')
  await engine.heard()
  first.answer()
  expect([await taken, (await turn).stopReason, engine.gateway.requests.length]).toEqual([false, 'turn_budget', 1])
})

test('a message is refused once the prompt is cancelled, and without a prompt', async () => {
  engine = await openEngine()
  expect(await engine.steer('early', 'nothing to join')).toBe(false)
  engine.gateway.next(streamsUntil({ text: 'I was about to' }, 5, 'silence'), done)
  const turn = engine.prompt('go')
  await until(() => engine.gateway.requests.length === 1)
  const taken = engine.steer('one', 'rather this')
  await engine.heard()
  await engine.cancel()
  expect([await taken, (await turn).stopReason]).toEqual([false, 'aborted'])
  await engine.prompt('go on')
  expect(JSON.stringify(engine.gateway.requests[1]?.body)).not.toContain('rather this')
})
