import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import {
  activitiesOf,
  type EndedRun,
  endedRun,
  messagesOf,
  outcomeOf,
  startsOf,
  typesOf,
} from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { leaseDirectory, leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let test: TestService
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  test = stack.use(await startTestService({ fixed: { agentStartMs: 8000 }, config: { runtimes } }))
})
afterAll(() => stack.disposeAsync())

/** Runs this script in a new Session until the Run has ended. */
async function perform(script: string, runtime = 'scripted'): Promise<EndedRun> {
  const session = await test.api.createSession({ runtime }, script)
  return ended(session)
}

async function next(session: Session, script: string): Promise<EndedRun> {
  const { run } = await test.api.submitTurn(session.id, script)
  return ended(session, run.id)
}

const ended = (session: Session, runId = session.activeRunId ?? '') => endedRun(test.api, session, runId)
const cancel = (session: Session) =>
  test.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)

/** Makes a Session whose agent has begun the script. */
async function begun(script: string, runtime = 'scripted'): Promise<Session> {
  const session = await test.api.createSession({ runtime }, script)
  await until('a running run', async () => (await test.api.session(session.id)).phase === 'running')
  return session
}

const directoryOf = async (session: Session) => leaseDirectory(test.dataDir, await leaseOf(test.db.database, session))

describe('the work of an agent', () => {
  it('is in the log as thoughts, messages, tool calls and diffs, each whole and in order', async () => {
    const echo = await perform('hello')
    expect(typesOf(echo)).toEqual([
      'run.started',
      'message.created',
      'message.created',
      'run.progress',
      'run.progress',
      'activity.completed',
      'artifact.created',
      'run.completed',
    ])
    expect(messagesOf(echo)).toMatchObject([
      { role: 'reasoning', text: 'I repeat that.' },
      { role: 'assistant', text: 'hello' },
    ])
    expect(activitiesOf(echo)).toMatchObject([
      { kind: 'edit', status: 'succeeded', diff: [{ path: '/workspace/echo.txt', oldText: '', newText: 'hello' }] },
    ])
    expect(outcomeOf(echo)).toBe('completed completed - 1')
    expect(echo.run.result?.summary).toBe('hello')
  })

  it('continues in the next turn in the same process', async () => {
    // Another process of this runtime would not know the first turn, and the run would fail.
    const first = await perform('say one', 'no-load')
    expect(messagesOf(await next(first.session, 'say two'))).toMatchObject([{ text: 'two' }])
  })

  it('carries the time at which it happened', async () => {
    const { events, run } = await perform('tool a')
    const progress = events
      .filter(event => event.type === 'svc.run.progress')
      .map(event => String(event.data['occurredAt']))
    const times = [run.startedAt ?? '', ...progress, run.endedAt ?? '']
    expect(times).toEqual(times.toSorted())
  })

  it('is truncated to 64 KiB of text between two characters, with a mark', async () => {
    const ship = await perform(`say x${'🚢'.repeat(30_000)}\ntool t${'x'.repeat(5_000)}`)
    const [message] = messagesOf(ship)
    expect(message).toMatchObject({ text: `x${'🚢'.repeat(16_383)}`, truncated: true })
    expect(activitiesOf(ship)).toMatchObject([{ title: `t${'x'.repeat(1_023)}`, truncated: true }])
    // A summary of up to 100 000 bytes is kept whole; a longer one is dropped.
    expect(ship.run.result).toBeUndefined()
    const long = await perform(`say ${'y'.repeat(80_000)}`)
    expect(long.run.result?.summary).toBe('y'.repeat(80_000))
  })
})

describe('the end that an agent reports', () => {
  it.each([
    ['stop end_turn', 'completed completed - 1'],
    ['stop max_tokens', 'completed max_response - 1'],
    ['stop max_turn_requests', 'completed max_turns - 1'],
    ['stop refusal', 'failed error agent_refused 1'],
    ['stop no_such_reason', 'failed error agent_protocol 1'],
    ['stop end_turn {"berth":{"errorCode":"tests_failed","summary":"2 of 3"}}', 'failed error tests_failed 1'],
    ['bad-result', 'failed error agent_protocol 1'],
    ['error it broke at /root/secret.ts', 'failed error agent_error 1'],
  ])('after %j gives the outcome %s', async (script, expected) => {
    const run = await perform(script)
    expect(outcomeOf(run)).toBe(expected)
    expect(JSON.stringify(run.events)).not.toContain('secret')
  })
})

describe('an agent that writes nonsense', () => {
  it('is read all the same: no JSON, no UTF-8, no JSON-RPC, no known update', async () => {
    const run = await perform('noise\nsay between\nstderr 100\ngarbage\ntool after')
    expect(messagesOf(run)).toMatchObject([{ text: 'between' }])
    expect(activitiesOf(run)).toMatchObject([{ title: 'after', output: 'did after' }])
    expect(outcomeOf(run)).toBe('completed completed - 1')
  })

  it('loses a line of 100 MB and nothing else', async () => {
    const run = await perform('say before\nflood 100000000\nsay  and after')
    expect(await readFile(join(await directoryOf(run.session), 'host/journal'), 'latin1')).toContain(
      '\n! {"bytes":100000000}\n',
    )
    expect(messagesOf(run)).toMatchObject([{ text: 'before and after' }])
    expect(outcomeOf(run)).toBe('completed completed - 1')
  })

  it('can be cancelled even if it never stops, and takes a bounded part of the log', async () => {
    const session = await begun('endless')
    await cancel(session)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('cancelled aborted - 1')
    expect(JSON.stringify(run.events).length).toBeLessThan(70_000)
  })
})

describe('an agent that dies', () => {
  it('before it did anything is restarted, up to three attempts in all', async () => {
    const run = await perform('say trying\ncrash')
    expect(outcomeOf(run)).toBe('crashed engine_unreachable turn_execution_lost 3')
    expect(startsOf(run).map(start => start['attempt'])).toEqual([1, 2, 3])
    const ids = messagesOf(run).map(message => message['messageId'])
    expect([ids.length, new Set(ids).size]).toEqual([3, 3])
  })

  it('after a tool call is not restarted: the call could be made twice', async () => {
    const run = await perform('open deploy\ncrash')
    expect(outcomeOf(run)).toBe('crashed engine_unreachable turn_execution_lost 1')
    expect(activitiesOf(run)).toMatchObject([{ title: 'deploy', status: 'failed' }])
    // The sandbox still works, so the next turn runs in it.
    expect(outcomeOf(await next(run.session, 'say again'))).toBe('completed completed - 1')
  })

  it('and cannot load its conversation gets a recap', async () => {
    const first = await perform('crash', 'no-load')
    const second = await next(first.session, 'say what did I ask?')
    expect(outcomeOf(second)).toBe('completed completed - 1')
    const texts = messagesOf(second).map(message => String(message['text']))
    expect(texts.join('\n')).toMatch(/Earlier in this conversation.*user: crash.*what did I ask\?$/s)
    // Only once: the same process continues.
    expect(messagesOf(await next(first.session, 'say three'))).toMatchObject([{ text: 'three' }])
  })

  it('and refuses to load its conversation does not pretend to know it', async () => {
    const first = await perform('tool a\ncrash', 'refuse-load')
    expect(outcomeOf(await next(first.session, 'say what did I ask?'))).toBe('failed error resume_unavailable 1')
  })

  it('between two turns is restarted for the next', async () => {
    const first = await perform('say one')
    const killed = await next(first.session, 'tool a\ndie SIGKILL')
    expect(outcomeOf(killed)).toBe('crashed engine_unreachable turn_execution_lost 1')
    expect(messagesOf(await next(first.session, 'say three'))).toMatchObject([{ text: 'three' }])
  })
})

describe('an output that a turn asks for', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  const ask = async (script: string, runtime = 'scripted') => {
    const session = await test.api.createSession({ runtime })
    const { run } = await test.api.submitTurn(session.id, script, { output: { schema } })
    return ended(session, run.id)
  }
  const rejections = ({ events }: EndedRun) =>
    events.filter(({ type }) => type === 'svc.output.rejected').map(({ data }) => data)
  const n = (message: string) => [{ path: ['n'], message }]

  it('is the result of the run and is told with its end', async () => {
    const run = await ask('say Found it.\\n```json\\n{"n":7,"b":1,"a":2}\\n```')
    expect([outcomeOf(run), rejections(run)]).toEqual(['completed completed - 1', []])
    expect(JSON.stringify(run.run.result?.output)).toBe('{"n":7,"b":1,"a":2}')
    expect(run.events.at(-1)?.data['result']).toEqual({ output: { n: 7, b: 1, a: 2 } })
  })

  it('is asked for once more if the answer does not satisfy the schema', async () => {
    const run = await ask('again say {"n":8}\nopen a\nsay {"n":"7"}')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(run.run.result).toMatchObject({ output: { n: 8 }, summary: '{"n":8}' })
    expect(messagesOf(run).map(({ text }) => text)).toEqual(['{"n":"7"}', '{"n":8}'])
    expect(rejections(run)).toEqual([{ answer: 1, issues: n('must be integer'), retried: true }])
  })

  it('fails the run if it is wrong a second time', async () => {
    const run = await ask('again say {}\nsay I do not know.')
    expect(outcomeOf(run)).toBe('failed error output_invalid 1')
    expect(run.run.result).not.toHaveProperty('output')
    expect(rejections(run)).toMatchObject([
      { answer: 1, issues: [{ path: [] }], retried: true },
      { answer: 2, issues: n('is required'), retried: false },
    ])
    // The Session goes on: the next Turn asks for nothing.
    expect(outcomeOf(await next(run.session, 'say done'))).toBe('completed completed - 1')
  })

  it('is not asked for again of an agent that was stopped by a limit, nor of one that failed', async () => {
    const run = await ask('again say {"n":1}\nsay {}\nstop max_tokens')
    expect([outcomeOf(run), rejections(run)]).toEqual([
      'failed max_response output_invalid 1',
      [{ answer: 1, issues: n('is required'), retried: false }],
    ])
    const failed = await ask('again say {"n":1}\nsay {}\nstop refusal')
    expect([outcomeOf(failed), rejections(failed)]).toEqual(['failed error agent_refused 1', []])
  })

  it('is asked for once more after a plan was sent back, and only once', async () => {
    const session = await test.api.createSession({ runtime: 'scripted' })
    const { run } = await test.api.submitTurn(session.id, 'again plan 2.\nsay {}', { output: { schema } })
    const plan = await until('a plan', async () => {
      const { body } = await test.api.get<{ interactions: { id: string }[] }>(`/v1/sessions/${session.id}/interactions`)
      return body.interactions[0]
    })
    await test.api.submitTurn(session.id, 'say {"n":null}', { replyTo: { interactionId: plan.id } })
    const end = await ended(session, run.id)
    expect(outcomeOf(end)).toBe('failed error output_invalid 1')
    expect(rejections(end)).toMatchObject([{ answer: 1 }, { answer: 2, issues: n('must be integer') }])
  })

  it('of a script is the last line that it prints, and it runs once', async () => {
    const run = await ask('echo building; echo >> runs; printf \'{"n":%s}\' "$(wc -l < runs)"', 'shell')
    expect([outcomeOf(run), run.run.result?.output]).toEqual(['completed completed - 1', { n: 1 }])
    const wrong = await ask('echo hello', 'shell')
    expect([outcomeOf(wrong), rejections(wrong).length]).toEqual(['failed error output_invalid 1', 1])
  })
})

describe('an agent that does not start', () => {
  it.each([
    ['exits at once', 'crash', 'failed error runtime_start_failed 3'],
    ['never answers', 'silent', 'failed error runtime_start_failed 1'],
    ['never reads', 'deaf', 'failed error runtime_start_failed 1'],
    ['is no program', 'missing', 'failed error runtime_start_failed 1'],
  ])('because it %s ends the run, which never began', async (_, runtime, expected) => {
    const run = await perform('hello', runtime)
    expect(outcomeOf(run)).toBe(expected)
    expect(typesOf(run)).toEqual([`run.${run.run.status}`])
  })
})

describe('a runtime', () => {
  it('that is unknown is refused with a list of the known ones', async () => {
    const answer = await test.api.put(`/v1/sessions/${crypto.randomUUID()}`, { runtime: 'no-such' })
    expect(answer.status).toBe(400)
    expect(answer.text).toMatch(/"path":\["runtime"\].*native.*shell.*scripted/)
  })

  it('that has left the catalog fails the run', async () => {
    const session = await test.api.createSession({ runtime: 'scripted' })
    await test.db.database.query("update sessions set runtime = 'departed' where id = $1", [session.id])
    expect(outcomeOf(await next(session, 'hello'))).toBe('failed error runtime_unavailable 1')
  })

  it('of our own needs a model', async () => {
    const session = await test.api.createSession({}, 'hello')
    expect(outcomeOf(await ended(session))).toBe('failed error model_not_configured 1')
  })
})

describe('cancelling', () => {
  it('reaches a working agent, which stops', async () => {
    const session = await begun('tool a\nhang')
    await cancel(session)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('cancelled aborted - 1')
    expect(run.run.cancellationRequested).toBe(true)
    expect(typesOf(run).at(-1)).toBe('run.cancelled')
    // Obeying does no harm to the agent: it takes the next turn.
    expect(messagesOf(await next(session, 'say on'))).toMatchObject([{ text: 'on' }])
  })

  it('kills an agent that ignores it after the grace period', async () => {
    const session = await begun('ignore-cancel\nopen a\nhang')
    await cancel(session)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('cancelled aborted - 1')
    expect(activitiesOf(run)).toMatchObject([{ status: 'failed' }])
    expect(messagesOf(await next(session, 'say on'))).toMatchObject([{ text: 'on' }])
  })

  it('ends an agent that has not started yet, and the run never began', async () => {
    const session = await test.api.createSession({ runtime: 'silent' }, 'hello')
    await until('a lease', async () => (await test.api.session(session.id)).workspace.state === 'attached')
    await cancel(session)
    const run = await ended(session)
    expect(typesOf(run)).toEqual(['run.cancelled'])
  })
})

describe('archiving', () => {
  it('ends the run and the sandbox of a working agent', async () => {
    const session = await begun('tool a\nhang')
    const directory = await directoryOf(session)
    expect(existsSync(directory)).toBe(true)
    expect((await test.api.call('DELETE', `/v1/sessions/${session.id}`)).status).toBe(204)
    const run = await ended(session)
    expect(outcomeOf(run)).toBe('cancelled aborted - 1')
    await until('the end of the sandbox', () => !existsSync(directory))
    expect(typesOf(run)).not.toContain('workspace.expired')
  })
})
