import type { Event } from '@berth/contract'
import { geminiRuntime } from '@berth/testing/agents/gemini.ts'
import { geminiTranscript, geminiWire } from '@berth/testing/models/gemini-wire.ts'
import { type ModelServer, startModelServer } from '@berth/testing/models/model-server.ts'
import { allowAll } from '@berth/testing/services/allow-all.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let model: ModelServer
/** A server of the same kind that no runtime lists in `reach`. */
let elsewhere: ModelServer
let test: TestService

beforeAll(async () => {
  model = stack.use(await startModelServer(geminiWire))
  elsewhere = stack.use(await startModelServer(geminiWire))
  const gemini = geminiRuntime(model.origin)
  const { GEMINI_API_KEY: _key, ...keyless } = gemini.env
  const runtimes = [
    gemini,
    { ...gemini, id: 'gemini-without-reach', reach: [] },
    { ...gemini, id: 'gemini-without-key', env: keyless },
  ]
  // The agent alone takes 400 MB.
  const variables = { BERTH_SANDBOX_MEMORY_BYTES: String(1024 ** 3) }
  test = stack.use(await startTestService({ variables, config: { runtimes } }))
})
afterAll(() => stack.disposeAsync())

/** Without the steps of a start, which are reported only if they take long. */
const types = (events: readonly Event[]) =>
  events.map(event => event.type.replace('svc.', '')).filter(type => type !== 'workspace.progress')
const data = (events: readonly Event[], type: string) =>
  events.filter(event => event.type === `svc.${type}`).map(event => event.data)

describe('Gemini CLI', () => {
  it('runs two turns of one conversation with its own tools and a model outside', async () => {
    const requestsBefore = model.requests.length
    const write = { name: 'write_file', args: { file_path: '/workspace/greeting.txt', content: 'hello, harbour\n' } }
    model.script({ text: 'I will write it down.', calls: [write] }, { text: 'It is written.' })
    const session = await test.api.createSession({ runtime: 'gemini' }, 'Write a greeting.')
    await using _person = allowAll(test.api, session.id)
    const first = await test.api.runEnded(session.id, session.activeRunId ?? '')
    expect(types(first)).toEqual([
      'message.created',
      'run.started',
      'message.created',
      'run.progress',
      'interaction.opened',
      'interaction.resolved',
      'run.progress',
      'activity.completed',
      'message.created',
      'artifact.created',
      'run.completed',
    ])
    expect(data(first, 'message.created')).toMatchObject([
      { role: 'user', text: 'Write a greeting.' },
      { role: 'assistant', text: 'I will write it down.' },
      { role: 'assistant', text: 'It is written.' },
    ])
    expect(data(first, 'run.progress')).toMatchObject([{ status: 'started' }, { status: 'succeeded' }])
    const diff = [{ path: '/workspace/greeting.txt', oldText: '', newText: 'hello, harbour\n' }]
    expect(data(first, 'activity.completed')).toMatchObject([{ kind: 'edit', status: 'succeeded', diff }])

    model.script(
      { calls: [{ name: 'run_shell_command', args: { command: 'cat greeting.txt; id -un; pwd' } }] },
      { text: 'It greets the harbour.' },
    )
    const { run } = await test.api.submitTurn(session.id, 'What does it say?')
    const both = await test.api.runEnded(session.id, run.id)
    const second = both.slice(first.length)
    expect(both.map(event => event.sequence)).toEqual(both.map((_, index) => index + 1))
    expect(types(second)).toEqual([
      'message.created',
      'run.started',
      'run.progress',
      'interaction.opened',
      'interaction.resolved',
      'run.progress',
      'activity.completed',
      'message.created',
      'artifact.created',
      'run.completed',
    ])
    const [shown] = data(second, 'activity.completed')
    expect(shown).toMatchObject({ kind: 'execute', status: 'succeeded' })
    expect(shown?.['output']).toContain('hello, harbour\nagent\n/workspace')
    expect(await test.api.run(session.id, run.id)).toMatchObject({
      status: 'completed',
      attempts: 1,
      result: { summary: 'It greets the harbour.' },
    })

    expect(geminiTranscript(model.requests.at(-1))).toEqual([
      'user: Write a greeting.',
      'model: I will write it down.',
      'model calls write_file',
      'user answers write_file',
      'model: It is written.',
      'user: What does it say?',
      'model calls run_shell_command',
      'user answers run_shell_command',
    ])
    expect(model.requests.slice(requestsBefore).map(request => request.headers['x-goog-api-key'])).toEqual(
      Array.from({ length: 4 }, () => 'a-key-for-the-script'),
    )
    expect(model.unexpected).toEqual([])
  })

  it('reaches nothing that its runtime does not name', async () => {
    const fetch = `node -e "http.get('${elsewhere.origin}', r => r.on('data', d => console.log(r.statusCode, '' + d)))"`
    model.script({ calls: [{ name: 'run_shell_command', args: { command: fetch } }] }, { text: 'It is out of reach.' })
    const session = await test.api.createSession({ runtime: 'gemini' }, 'Fetch it.')
    await using _person = allowAll(test.api, session.id)
    const events = await test.api.runEnded(session.id, session.activeRunId ?? '')
    const [fetched] = data(events, 'activity.completed')
    expect(fetched?.['output']).toContain("403 refused by the sandbox's proxy")
    expect([...elsewhere.requests, ...elsewhere.unexpected]).toEqual([])
  })

  it('fails if its runtime does not reach the model', async () => {
    const requestsBefore = model.requests.length
    const session = await test.api.createSession({ runtime: 'gemini-without-reach' }, 'Anything.')
    const events = await test.api.runEnded(session.id, session.activeRunId ?? '')
    expect(events.at(-1)).toMatchObject({ type: 'svc.run.failed', data: { errorCode: 'agent_error' } })
    expect(model.requests.length).toBe(requestsBefore)
    expect(model.unexpected).toEqual([])
  })

  it('fails every turn at once while it refuses to open a session', async () => {
    const session = await test.api.createSession({ runtime: 'gemini-without-key' }, 'Anything.')
    const first = await test.api.runEnded(session.id, session.activeRunId ?? '')
    const { run } = await test.api.submitTurn(session.id, 'And now?')
    const both = await test.api.runEnded(session.id, run.id)
    expect(types(both)).toEqual(['message.created', 'run.failed', 'message.created', 'run.failed'])
    expect(first.at(-1)).toMatchObject({ data: { errorCode: 'runtime_start_failed' } })
    expect(both.at(-1)).toMatchObject({ data: { errorCode: 'runtime_start_failed' } })
  })
})
