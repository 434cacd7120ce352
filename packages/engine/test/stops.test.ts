import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine, textOf } from './support/engine.ts'
import type { ModelReply } from './support/responses-wire.ts'
import { type Behaviour, call, refuses, saysChanged, saysUsing, streamsUntil } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const look = call('list', {})
const failing = call('bash', { command: 'exit 3' })
const done: ModelReply = { text: 'done' }

describe('a limit', () => {
  test.each<[string, readonly [Behaviour | ModelReply, ...(Behaviour | ModelReply)[]], object, object]>([
    ['of turns that was given', [look], { budgets: { turns: 3 } }, { stopReason: 'turn_budget', turns: 3 }],
    ['of turns that is our own', [look], {}, { stopReason: 'max_turns', turns: 6 }],
    ['of one answer', [{ text: 'and so', cut: true }], {}, { stopReason: 'max_response', acpReason: 'max_tokens' }],
    [
      'of all answers',
      [saysUsing(look, 100, 60)],
      { budgets: { responseTokens: 100 } },
      { stopReason: 'max_response', turns: 2 },
    ],
    [
      'of cost',
      [look, refuses(402, 'cost_budget_exceeded', 'spent $500')],
      {},
      { stopReason: 'cost_budget', turns: 1 },
    ],
    ['of cost that nobody knows', [refuses(402, 'cost_unknown')], {}, { stopReason: 'cost_unknown', turns: 0 }],
    ['of failures', [failing], {}, { stopReason: 'repeated_tool_failure', turns: 5 }],
    [
      'of failures is not met by different ones',
      [failing, failing, failing, failing, look, failing, done],
      { budgets: { turns: 6 } },
      { stopReason: 'turn_budget', turns: 6 },
    ],
    [
      'is not met by the last turn that is allowed',
      [look, done],
      { budgets: { turns: 2 } },
      { stopReason: 'completed' },
    ],
  ])('%s', async (_, behaviours, berth, expected) => {
    engine = await openEngine({ env: { BERTH_ENGINE_MAX_TURNS: '6' } })
    engine.gateway.next(...behaviours)
    expect(await engine.prompt('go', berth)).toMatchObject(expected)
  })

  test('of time ends what runs', async () => {
    engine = await openEngine()
    engine.gateway.next(call('bash', { command: 'echo $$ > new; mv new pid; exec sleep 600' }))
    const turn = await engine.prompt('go', { budgets: { seconds: 1 } })
    expect(turn).toMatchObject({ stopReason: 'time_budget' })
    await until(() => hasEnded(join(engine.workspace, 'pid')))
  })
})

describe('a model', () => {
  const cut = streamsUntil({ text: 'I was about to' }, 5, 'cut')
  test.each<[string, readonly [Behaviour | ModelReply, ...(Behaviour | ModelReply)[]], object, number]>([
    ['that is overloaded is asked again', [refuses(503, 'upstream_overloaded'), done], { stopReason: 'completed' }, 2],
    ['that limits us is asked again', [refuses(429, 'upstream_rate_limited'), done], { stopReason: 'completed' }, 2],
    ['whose answer is cut is asked again', [cut, done], { stopReason: 'completed' }, 2],
    ['that limits us for good', [refuses(429, 'x')], { stopReason: 'error', errorCode: 'model_rate_limited' }, 5],
    ['that is away', [refuses(500, 'x')], { stopReason: 'error', errorCode: 'model_unavailable' }, 5],
    ['whose every answer is cut', [cut], { stopReason: 'error', errorCode: 'model_response_invalid' }, 5],
    [
      'that makes no sense',
      [saysChanged(done, frame => frame.replace('data: {', 'data: {{'))],
      { stopReason: 'error', errorCode: 'model_response_invalid' },
      5,
    ],
    [
      'whose provider refuses the key of the gateway',
      [refuses(502, 'upstream_credential_refused')],
      { stopReason: 'error', errorCode: 'model_credential_refused' },
      1,
    ],
    ['that refuses the request', [refuses(400, 'x')], { stopReason: 'error', errorCode: 'model_request_refused' }, 1],
    [
      'without a quota',
      [refuses(429, 'insufficient_quota')],
      { stopReason: 'error', errorCode: 'model_rate_limited' },
      1,
    ],
  ])('%s', async (_, behaviours, expected, requests) => {
    engine = await openEngine()
    engine.gateway.next(...behaviours)
    expect(await engine.prompt('go')).toMatchObject(expected)
    expect(engine.gateway.requests).toHaveLength(requests)
  })

  test('that cannot be asked is an activity in the words of the gateway', async () => {
    engine = await openEngine()
    const words = 'The provider refused the credential; mend the configuration.'
    engine.gateway.next(refuses(502, 'upstream_credential_refused', words), done)
    expect(callsOf((await engine.prompt('go')).updates)).toEqual([{ call: 'model failed', text: `Model: ${words}` }])
    expect(callsOf((await engine.prompt('go')).updates)).toEqual([])
    await engine.gateway[Symbol.asyncDispose]()
    expect(callsOf((await engine.prompt('go')).updates)).toMatchObject([{ call: 'model failed' }])
  })

  test('that goes silent is given up', async () => {
    engine = await openEngine({ env: { BERTH_ENGINE_MODEL_IDLE_MS: '50' } })
    engine.gateway.next(streamsUntil({ text: 'I was about to' }, 5, 'silence'))
    expect(await engine.prompt('go')).toMatchObject({ stopReason: 'error', errorCode: 'model_response_invalid' })
  })

  test('that is not there at all', async () => {
    engine = await openEngine()
    await engine.gateway[Symbol.asyncDispose]()
    expect(await engine.prompt('go')).toMatchObject({ stopReason: 'error', errorCode: 'model_unavailable' })
  })

  test('that is not named', async () => {
    engine = await openEngine()
    expect(await engine.prompt('go', { model: undefined })).toMatchObject({ errorCode: 'model_not_configured' })
  })

  test('whose arguments are no JSON has nothing done, and is told', async () => {
    engine = await openEngine()
    const broken = saysChanged(call('bash', { command: 'touch made' }), frame =>
      frame
        .replaceAll('{\\"command\\":\\"touch made\\"}', '{\\"command\\":\\"touch made')
        .replaceAll('made\\"}"', 'made"'),
    )
    engine.gateway.next(broken, done)
    const turn = await engine.prompt('go')
    expect(turn.stopReason).toBe('completed')
    expect(callsOf(turn.updates)).toEqual([{ call: 'bash failed', text: expect.stringContaining('not a JSON object') }])
    expect(existsSync(join(engine.workspace, 'made'))).toBe(false)
  })
})

describe('cancelling', () => {
  test('ends an answer', async () => {
    engine = await openEngine()
    engine.gateway.next(streamsUntil({ text: 'I was about to' }, 5, 'silence'), done)
    const turn = engine.prompt('go')
    await until(() => textOf(engine.updates) !== '')
    await engine.cancel()
    expect(await turn).toMatchObject({ acpReason: 'cancelled', stopReason: 'aborted' })
    expect(await engine.prompt('go on')).toMatchObject({ stopReason: 'completed' })
  })

  test('ends a command with all that it started', async () => {
    engine = await openEngine()
    engine.gateway.next(call('bash', { command: 'sleep 600 & echo $! > new; mv new pid; wait' }), done)
    const turn = engine.prompt('go')
    await until(() => existsSync(join(engine.workspace, 'pid')))
    await engine.cancel()
    expect(await turn).toMatchObject({ stopReason: 'aborted' })
    expect(callsOf(engine.updates)).toMatchObject([{ call: 'bash failed' }])
    await until(() => hasEnded(join(engine.workspace, 'pid')))
    expect(await engine.prompt('go on')).toMatchObject({ stopReason: 'completed' })
  })

  test('ends a question', async () => {
    let asked = false
    engine = await openEngine({
      people: {
        elicit: () => {
          asked = true
          return new Promise(() => undefined)
        },
      },
    })
    engine.gateway.next(call('ask_user', { questions: [{ question: 'Which?' }] }), done)
    const turn = engine.prompt('go')
    await until(() => asked)
    await engine.cancel()
    expect(await turn).toMatchObject({ stopReason: 'aborted' })
  })

  test('ends the wait for another attempt, and a sub-agent', async () => {
    engine = await openEngine({ env: { BERTH_ENGINE_RETRY_MS: '600000' } })
    engine.gateway.next(call('delegate', { task: 'x' }), refuses(503, 'x'))
    const turn = engine.prompt('go')
    await until(() => engine.gateway.requests.length === 2)
    await engine.cancel()
    expect(await turn).toMatchObject({ stopReason: 'aborted' })
    expect(engine.told).toMatchObject([{ type: 'delegation_completed', data: { status: 'cancelled' } }])
  })
})

/** Of the process named in a file; one that was killed before it could write it has ended. A zombie still has its number. */
function hasEnded(file: string): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${Number(readFileSync(file, 'utf8'))}/stat`, 'utf8'))
  } catch {
    return true
  }
}
