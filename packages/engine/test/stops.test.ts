import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { callsOf, type Engine, openEngine, textOf } from './support/engine.ts'
import type { ModelReply } from './support/responses-wire.ts'
import { type Behaviour, call, refuses, saysChanged, saysUsing, streamsUntil } from './support/scripted-gateway.ts'
import { until } from './support/until.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const list = call('list', {})
const failing = call('bash', { command: 'exit 3' })
const done: ModelReply = { text: 'done' }

describe('a limit', () => {
  test.each<[string, readonly [Behaviour | ModelReply, ...(Behaviour | ModelReply)[]], object, object]>([
    [
      'of turns given with the prompt ends the prompt',
      [list],
      { budgets: { turns: 3 } },
      { stopReason: 'turn_budget', turns: 3 },
    ],
    ['of turns set by the engine ends the prompt', [list], {}, { stopReason: 'max_turns', turns: 6 }],
    [
      'of turns given with the prompt may be higher',
      [list],
      { budgets: { turns: 8 } },
      { stopReason: 'turn_budget', turns: 8 },
    ],
    [
      'of output tokens of one answer ends the prompt',
      [{ text: 'and so', cut: true }],
      {},
      { stopReason: 'max_response', acpReason: 'max_tokens' },
    ],
    [
      'of output tokens of all answers ends the prompt',
      [saysUsing(list, 100, 60)],
      { budgets: { responseTokens: 100 } },
      { stopReason: 'max_response', turns: 2 },
    ],
    [
      'of cost ends the prompt',
      [list, refuses(402, 'cost_budget_exceeded', 'spent $500')],
      {},
      { stopReason: 'cost_budget', turns: 1 },
    ],
    [
      'of cost ends the prompt if the cost is unknown',
      [refuses(402, 'cost_unknown')],
      {},
      { stopReason: 'cost_unknown', turns: 0 },
    ],
    ['of repeated failures ends the prompt', [failing], {}, { stopReason: 'repeated_tool_failure', turns: 5 }],
    [
      'of repeated failures ignores failures that are not in a row',
      [failing, failing, failing, failing, list, failing, done],
      { budgets: { turns: 6 } },
      { stopReason: 'turn_budget', turns: 6 },
    ],
    [
      'is not exceeded by the last turn that it allows',
      [list, done],
      { budgets: { turns: 2 } },
      { stopReason: 'completed' },
    ],
  ])('%s', async (_, behaviours, berth, expected) => {
    engine = await openEngine({ env: { BERTH_ENGINE_MAX_TURNS: '6' } })
    engine.gateway.next(...behaviours)
    expect(await engine.prompt('go', berth)).toMatchObject(expected)
  })

  test('of time ends the running command', async () => {
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
    ['that is overloaded is retried', [refuses(503, 'upstream_overloaded'), done], { stopReason: 'completed' }, 2],
    ['that limits the rate is retried', [refuses(429, 'upstream_rate_limited'), done], { stopReason: 'completed' }, 2],
    ['whose answer is cut is retried', [cut, done], { stopReason: 'completed' }, 2],
    [
      'that always limits the rate fails the prompt after five requests',
      [refuses(429, 'x')],
      { stopReason: 'error', errorCode: 'model_rate_limited' },
      5,
    ],
    [
      'that is unavailable fails the prompt after five requests',
      [refuses(500, 'x')],
      { stopReason: 'error', errorCode: 'model_unavailable' },
      5,
    ],
    [
      'whose every answer is cut fails the prompt after five requests',
      [cut],
      { stopReason: 'error', errorCode: 'model_response_invalid' },
      5,
    ],
    [
      'that sends malformed events fails the prompt after five requests',
      [saysChanged(done, frame => frame.replace('data: {', 'data: {{'))],
      { stopReason: 'error', errorCode: 'model_response_invalid' },
      5,
    ],
    [
      'whose provider refuses the key is not retried',
      [refuses(502, 'upstream_credential_refused')],
      { stopReason: 'error', errorCode: 'model_credential_refused' },
      1,
    ],
    [
      'that refuses the request is not retried',
      [refuses(400, 'x')],
      { stopReason: 'error', errorCode: 'model_request_refused' },
      1,
    ],
    [
      'without a quota is not retried',
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

  test('that fails for good is reported as a failed call in the words of the gateway', async () => {
    engine = await openEngine()
    const message = 'The provider refused the credential; mend the configuration.'
    engine.gateway.next(refuses(502, 'upstream_credential_refused', message), done)
    expect(callsOf((await engine.prompt('go')).updates)).toEqual([{ call: 'model failed', text: `Model: ${message}` }])
    expect(callsOf((await engine.prompt('go')).updates)).toEqual([])
    await engine.gateway[Symbol.asyncDispose]()
    expect(callsOf((await engine.prompt('go')).updates)).toMatchObject([{ call: 'model failed' }])
  })

  test('that goes silent is given up after the idle limit', async () => {
    engine = await openEngine({ env: { BERTH_ENGINE_MODEL_IDLE_MS: '50' } })
    engine.gateway.next(streamsUntil({ text: 'I was about to' }, 5, 'silence'))
    expect(await engine.prompt('go')).toMatchObject({ stopReason: 'error', errorCode: 'model_response_invalid' })
  })

  test('behind an unreachable gateway fails the prompt as unavailable', async () => {
    engine = await openEngine()
    await engine.gateway[Symbol.asyncDispose]()
    expect(await engine.prompt('go')).toMatchObject({ stopReason: 'error', errorCode: 'model_unavailable' })
  })

  test.each([
    ['for a while is looked for again', 503, 4, { stopReason: 'completed' }],
    ['for too long fails the prompt', 503, 5, { stopReason: 'error', errorCode: 'model_unavailable' }],
    ['for good fails the prompt at once', 403, 1, { stopReason: 'error', errorCode: 'model_request_refused' }],
  ])('whose description is refused %s', async (_, status, times, expected) => {
    engine = await openEngine()
    engine.gateway.nextList(...Array.from({ length: times }, () => refuses(status, 'x')))
    engine.gateway.next(done)
    expect(await engine.prompt('go')).toMatchObject(expected)
    expect(engine.gateway.requests).toHaveLength(expected.stopReason === 'completed' ? 1 : 0)
  })

  test('must be named by the prompt or the conversation', async () => {
    engine = await openEngine()
    expect(await engine.prompt('go', { model: undefined })).toMatchObject({ errorCode: 'model_not_configured' })
  })

  test('whose arguments are invalid JSON gets an error, and the call does not run', async () => {
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
  test('ends an answer in progress', async () => {
    engine = await openEngine()
    engine.gateway.next(streamsUntil({ text: 'I was about to' }, 5, 'silence'), done)
    const turn = engine.prompt('go')
    await until(() => textOf(engine.updates) !== '')
    await engine.cancel()
    expect(await turn).toMatchObject({ acpReason: 'cancelled', stopReason: 'aborted' })
    expect(await engine.prompt('go on')).toMatchObject({ stopReason: 'completed' })
  })

  test('ends a command and all processes it started', async () => {
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

  test('ends an open question', async () => {
    let wasCalled = false
    engine = await openEngine({
      people: {
        elicit: () => {
          wasCalled = true
          return new Promise(() => undefined)
        },
      },
    })
    engine.gateway.next(call('ask_user', { questions: [{ question: 'Which?' }] }), done)
    const turn = engine.prompt('go')
    await until(() => wasCalled)
    await engine.cancel()
    expect(await turn).toMatchObject({ stopReason: 'aborted' })
  })

  test('ends the wait before a retry, and a sub-agent', async () => {
    engine = await openEngine({ env: { BERTH_ENGINE_RETRY_MS: '600000' } })
    engine.gateway.next(call('delegate', { task: 'x' }), refuses(503, 'x'))
    const turn = engine.prompt('go')
    await until(() => engine.gateway.requests.length === 2)
    await engine.cancel()
    expect(await turn).toMatchObject({ stopReason: 'aborted' })
    expect(engine.reported).toMatchObject([
      { type: 'delegation_started' },
      { type: 'delegation_completed', data: { status: 'cancelled' } },
    ])
  })
})

/**
 * Returns true if the process named in the file has ended, which includes zombies.
 * Without the file, the process was killed before it could write it.
 */
function hasEnded(file: string): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${Number(readFileSync(file, 'utf8'))}/stat`, 'utf8'))
  } catch {
    return true
  }
}
