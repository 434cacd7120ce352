import { randomUUID } from 'node:crypto'
import type { Event, Interaction, Session } from '@berth/contract'
import { refuses, says } from '@berth/testing/models/scripted-upstream.ts'
import { activitiesOf, endedRun, messagesOf, outcomeOf, typesOf } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, providerKey, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

let service: GatewayService
beforeAll(async () => {
  service = await startGatewayService({
    variables: { BERTH_ROLES: 'api,gateway,worker' },
    // bound: Runs are to wait for so long
    fixed: { parkMs: 1000 },
    models: { default: 'main/m1' },
  })
})
afterAll(() => service[Symbol.asyncDispose]())

const call = (name: string, args: Readonly<Record<string, unknown>>) => says({ calls: [{ name, args }] })
const bash = (command: string) => call('bash', { command })
const ended = (session: Session, runId = session.activeRunId ?? '') => endedRun(service.test.api, session, runId)

async function next(session: Session, message: string) {
  const id = randomUUID()
  const { body } = await service.test.api.put<{ run: { id: string } }>(`/v1/sessions/${session.id}/turns/${id}`, {
    message,
  })
  return ended(session, body.run.id)
}

const openInteraction = (session: Session) =>
  until('an open interaction', async () => {
    const path = `/v1/sessions/${session.id}/interactions`
    const { body } = await service.test.api.get<{ interactions: Interaction[] }>(path)
    return body.interactions.find(({ status }) => status === 'open')
  })
const reply = (session: Session, { id }: Interaction, message: string) =>
  service.test.api.put(`/v1/sessions/${session.id}/turns/${randomUUID()}`, { message, replyTo: { interactionId: id } })

const making = [
  `echo '{"type":"module"}' > package.json`,
  "echo 'export const add = (a, b) => a - b' > add.js",
  `printf "import assert from 'node:assert'\\nimport { add } from './add.js'\\nassert.equal(add(1, 2), 3)\\n" > test.js`,
].join('; ')

test('the model thinks as hard as the session says, from the next turn on', async () => {
  service.upstream.next(says({ text: 'Done.' }))
  const session = await service.test.api.createSession({ effort: 'high' }, 'Think')
  await ended(session)
  const lastBody = () => service.upstream.requests.at(-1)?.body
  expect(lastBody()).toMatchObject({ reasoning: { effort: 'high', summary: 'auto' } })
  for (const [effort, sent] of [
    ['minimal', { effort: 'low', summary: 'auto' }],
    [null, { summary: 'auto' }],
  ] as const) {
    await service.test.api.call('PATCH', `/v1/sessions/${session.id}`, { effort })
    await next(session, 'Think again')
    expect(lastBody()).toMatchObject({ reasoning: sent })
  }
  expect(lastBody()).not.toHaveProperty('reasoning.effort')
})

test('a session without a runtime fixes a failing test, presents a file and remembers it', async () => {
  service.upstream.next(
    bash(making),
    bash('node test.js'),
    call('edit', { path: 'add.js', edits: [{ oldText: 'a - b', newText: 'a + b' }] }),
    bash('node test.js && echo passed'),
    call('present_file', { path: 'add.js' }),
    says({ text: 'It added up wrongly; fixed.' }),
  )
  const session = await service.test.api.createSession({}, 'Fix the failing test')
  expect(session).toMatchObject({ model: 'main/m1' })
  const run = await ended(session)
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(run.run).toMatchObject({
    turns: 6,
    costComplete: true,
    usage: { inputTokens: 600, outputTokens: 60 },
    result: { summary: 'It added up wrongly; fixed.' },
  })
  expect(activitiesOf(run)).toMatchObject([
    { name: 'bash', status: 'succeeded' },
    { name: 'bash', status: 'failed', output: expect.stringContaining('AssertionError') },
    { name: 'edit', kind: 'edit', diff: [{ path: '/workspace/add.js', oldText: 'a - b', newText: 'a + b' }] },
    { name: 'bash', status: 'succeeded', output: 'passed\n' },
    { name: 'present_file', status: 'succeeded' },
  ])
  expect(messagesOf(run)).toMatchObject([{ role: 'assistant', text: 'It added up wrongly; fixed.' }])
  expect(typesOf(run)).toContain('artifact.created')

  service.upstream.next(says({ text: 'Addition.' }))
  expect(outcomeOf(await next(session, 'What was wrong?'))).toBe('completed completed - 1')
  expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toContain('It added up wrongly; fixed.')
})

test('the agent is told a schema, and what its first answer lacks', async () => {
  const { api } = service.test
  service.upstream.next(says({ text: 'Seven.' }), says({ text: '```json\n{"n":7}\n```' }))
  const session = await api.createSession({})
  const output = { schema: { type: 'object', required: ['n'] } }
  const { run: begun } = await api.submitTurn(session.id, 'How many?', { output })
  const run = await ended(session, begun.id)
  expect(outcomeOf(run)).toBe('completed completed - 1')
  // The turns of both answers count towards one budget.
  expect(run.run).toMatchObject({ result: { output: { n: 7 } }, turns: 2 })
  const [first, second] = service.upstream.requests.slice(-2).map(({ body }) => JSON.stringify(body))
  expect(first).toContain('JSON Schema:\\n\\n{\\"type\\":\\"object\\",\\"required\\":[\\"n\\"]}')
  expect(second).toContain('- the value is not there')
})

test('messages reach the agent at work once each, in order, after the results of its step', async () => {
  const { api } = service.test
  const wanted = ['rather this', 'and that']
  const inputOf = ({ body }: { body: unknown }) => (body as { input: { role?: string; content?: unknown }[] }).input
  const lacks = (request: { body: unknown }) => wanted.some(text => !JSON.stringify(request.body).includes(text))
  // Goes on until the agent has both.
  const [step, last] = [bash('sleep 0.05'), says({ text: 'Both done.' })]
  const before = service.upstream.requests.length
  service.upstream.next((request, response) => (lacks(request) ? step : last)(request, response))
  const session = await api.createSession({}, 'Begin')
  await until('a step', async () => service.upstream.requests.length > before + 1)
  const files = [{ name: 'a.txt', content: Buffer.from('inside').toString('base64') }]
  const turns = await Promise.all(
    wanted.map((message, n) => api.submitTurn(session.id, message, { mode: 'steer', ...(n === 1 && { files }) })),
  )
  const run = await ended(session)
  expect([outcomeOf(run), run.run.result?.summary]).toEqual(['completed completed - 1', 'Both done.'])
  const input = inputOf(service.upstream.requests.at(-1) ?? { body: { input: [] } })
  const places = wanted.map(text => input.flatMap((item, n) => (JSON.stringify(item).includes(text) ? [n] : [])))
  const admitted = turns.map(({ turn }) => turn).toSorted((a, b) => a.sequence - b.sequence)
  const order = admitted.map(({ message }) => wanted.indexOf(message))
  expect(places.map(({ length }) => length)).toEqual([1, 1])
  const inOrder = order.map(n => places[n]?.[0] ?? -1)
  expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b))
  expect(input[(inOrder[0] ?? 0) - 1]).toMatchObject({ type: 'function_call_output' })
  expect(JSON.stringify(input)).toContain(`/workspace/.berth/inputs/${turns[1]?.turn.sequence}/a.txt`)
  const steered = run.events.filter(({ type }) => type === 'svc.turn.steered').map(({ data }) => data)
  expect(steered).toEqual(admitted.map(({ id: turnId }) => ({ turnId, status: 'taken' })))
})

test('the agent and its background processes stand still between its turns, and continue', async () => {
  const { api } = service.test
  const server =
    'setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $! > server.pid; cat /proc/$PPID/stat | cut -d " " -f 1,22'
  const again = 'kill -0 $(cat server.pid) && cat /proc/$PPID/stat | cut -d " " -f 1,22'
  service.upstream.next(bash(server), says({ text: 'Started.' }))
  const session = await api.createSession({}, 'Start a server')
  const [engine] = activitiesOf(await ended(session))
  // After the seal, which freezes the sandbox first.
  await until('the seal', async () => (await api.session(session.id)).phase === 'idle')
  service.upstream.next(bash(again), says({ text: 'It runs.' }))
  const run = await next(session, 'Does it run?')
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(activitiesOf(run)).toMatchObject([{ status: 'succeeded', output: engine?.output }])
})

test('a command in the background is told, goes on between turns, and is gone with its sandbox', async () => {
  const { api } = service.test
  const waits = 'until [ -e go ]; do sleep 0.1; done'
  service.upstream.next(call('bash', { command: waits, background: true }), says({ text: 'It waits.' }))
  const session = await api.createSession({}, 'Start it')
  expect(session.background).toEqual([])
  const first = await ended(session)
  const running = { id: 'b1', command: waits, status: 'running', startedAt: expect.any(String) }
  const reported = (run: typeof first) =>
    run.events.filter(({ type }) => type === 'svc.background.updated').map(({ data }) => data['commands'])
  expect(reported(first)).toEqual([[running]])
  expect((await api.session(session.id)).background).toEqual([running])
  const over = { ...running, status: 'exited', exitCode: 0 }
  service.upstream.next(
    bash('touch go'),
    call('background', { id: 'b1', action: 'wait', seconds: 600 }),
    call('bash', { command: 'exec sleep 600', background: true }),
    says({ text: 'It is over.' }),
  )
  const second = await next(session, 'Let it go on')
  expect(reported(second)).toEqual([[over], [over, expect.objectContaining({ id: 'b2', status: 'running' })]])
  expect(activitiesOf(second)[1]).toMatchObject({ output: expect.stringContaining('b1 has ended with exit code 0') })
  await until('the seal', async () => (await api.session(session.id)).phase === 'idle')
  expect((await api.session(session.id)).background).toHaveLength(2)
  expect((await api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBeLessThan(300)
  expect((await api.session(session.id)).background).toEqual([])
  service.upstream.next(says({ text: 'I know.' }))
  await next(session, 'And now?')
  expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toContain('The background command b2 is gone')
  expect((await api.session(session.id)).background).toEqual([])
})

test('a command in the background of a run that was cancelled while it waited for people is told as over', async () => {
  const { api } = service.test
  service.upstream.next(
    call('bash', { command: 'exec sleep 600', background: true }),
    call('ask_user', { questions: [{ question: 'Which colour?', options: ['red', 'blue'] }] }),
  )
  const session = await api.createSession({}, 'Paint it')
  const states = async () => (await api.session(session.id)).background?.map(({ status }) => status)
  await until('the question', async () => (await api.session(session.id)).phase === 'awaiting')
  expect(await states()).toEqual(['running'])
  const cancelled = await api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
  expect(cancelled.status).toBe(200)
  await until('the end of the command', async () => (await states())?.[0] !== 'running')
  expect(await states()).toEqual(['stopped'])
  const last = (await api.events(session.id)).findLast(({ type }) => type === 'svc.background.updated')
  expect(last).toMatchObject({ data: { commands: [{ id: 'b1', status: 'stopped' }] } })
  expect(last?.subject).not.toHaveProperty('runId')
})

test('the agent asks people and continues with their answers', async () => {
  const { api } = service.test
  const questions = [{ question: 'Which colour?', options: ['red', 'blue'] }]
  service.upstream.next(call('ask_user', { questions }), says({ text: 'Blue it is.' }))
  const session = await api.createSession({}, 'Paint it')
  const open = await openInteraction(session)
  expect(open).toMatchObject({ kind: 'ask_user', request: { questions: [{ question: 'Which colour?' }] } })
  await reply(session, open, 'blue')
  const run = await ended(session)
  expect(messagesOf(run)).toMatchObject([{ text: 'Blue it is.' }])
  expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toContain('→ blue')
})

test('the agent asks two questions at once, each in its own words, and continues with both answers', async () => {
  const questions = [{ question: 'Which colour?', options: ['red', 'blue'] }, { question: 'For whom?' }]
  service.upstream.next(call('ask_user', { questions }), says({ text: 'Done.' }))
  const session = await service.test.api.createSession({}, 'Paint it')
  const open = await openInteraction(session)
  expect(open.request.questions).toMatchObject(questions)
  const prose = await reply(session, open, 'For Ada')
  expect([prose.status, prose.body['issues']]).toMatchObject([
    400,
    [{ path: ['message'], message: expect.stringContaining('"q1" (required), "q2" (required)') }],
  ])
  expect((await reply(session, open, '{ "q1": "blue", "q2": "Ada" }')).status).toBe(202)
  expect(messagesOf(await ended(session))).toMatchObject([{ text: 'Done.' }])
  const lastBody = JSON.stringify(service.upstream.requests.at(-1)?.body)
  expect(lastBody).toMatch(/Which colour\?\\n→ blue\\n\\nFor whom\?\\n→ Ada/)
})

test('a plan that is approved after its sandbox was given back is carried out in another one', async () => {
  const { api } = service.test
  const write = call('write', { path: 'a.txt', content: 'planned' })
  const long = `Write a.txt. ${'ü'.repeat(40_000)}`
  service.upstream.next(write, call('exit_plan_mode', { plan: long }), write, says({ text: 'Written.' }))
  const session = await api.createSession({}, '/plan\nWrite it')
  const plan = await openInteraction(session)
  expect(plan).toMatchObject({ kind: 'exit_plan_mode', request: { plan: long } })
  await until('a parked run', async () => (await api.session(session.id)).workspace.state === 'expired')
  await reply(session, plan, 'approve')
  const run = await ended(session)
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(activitiesOf(run).map(({ name, status }) => `${name} ${status}`)).toEqual([
    'write failed',
    'exit_plan_mode succeeded',
    'write succeeded',
  ])
})

test('a run that waits for people is parked only once its command in the background has ended', async () => {
  const { api, db, dataDir } = service.test
  const ask = call('ask_user', { questions: [{ question: 'Does it look right?', options: ['yes', 'no'] }] })
  const serve = 'until [ -e go ]; do sleep 0.1; done'
  service.upstream.next(call('bash', { command: serve, background: true }), ask)
  const keeping = await api.createSession({}, 'Show it')
  await openInteraction(keeping)
  service.upstream.next(ask)
  const other = await api.createSession({}, 'Ask')
  await openInteraction(other)
  const isParked = async ({ id }: Session) => (await api.session(id)).workspace.state === 'expired'
  await until('the other run to be parked', () => isParked(other))
  expect(await isParked(keeping)).toBe(false)
  await touch(db.database, dataDir, keeping, 'go')
  await until('its command to end and it to be parked', () => isParked(keeping))
})

test("the conversation outlives its sandbox, and the agent's other reports are in the log", async () => {
  const { api, db } = service.test
  service.upstream.next(says({ text: 'A swan.' }))
  const session = await api.createSession({}, 'Name a bird')
  await ended(session)
  await until('the seal', async () => (await api.session(session.id)).phase === 'idle')
  await db.database.query("update leases set expires_at = now() - interval '1 minute' where session_id = $1", [
    session.id,
  ])
  await until('the end of the lease', async () => (await api.session(session.id)).workspace.state === 'expired')
  service.upstream.next(call('delegate', { task: 'Look' }), says({ text: 'Nothing.' }), says({ text: 'Still a swan.' }))
  const run = await next(session, 'Look again')
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toContain('A swan.')
  const steered = (type: string) => run.events.filter((event: Event) => event.type === type).map(({ data }) => data)
  expect(steered('svc.delegation.started')).toMatchObject([{ task: 'Look' }])
  expect(steered('svc.delegation.completed')).toMatchObject([{ status: 'completed', summary: 'Nothing.' }])
  service.upstream.next(says({ text: 'Which?' }))
  expect(typesOf(await next(session, '/clear\nWhich bird?'))).toContain('conversation.cleared')
  expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).not.toContain('swan')
})

/** A minimal tool server, as a repository may hold one. */
const shelf = `
const say = message => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  const { protocolVersion } = params ?? {}
  const tools = [{ name: 'find', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }]
  const text = () => process.env.SHELF + ' ' + process.cwd() + ' ' + params.arguments.title
  if (method === 'initialize') {
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shelf', version: '1' } } })
  }
  if (method === 'tools/list') say({ id, result: { tools } })
  if (method === 'tools/call') say({ id, result: { content: [{ type: 'text', text: text() }] } })
})
`

test('tool servers that the workspace names start in the sandbox, and their outcome is in the log', async () => {
  const mcpServers = {
    shelf: { command: 'node', args: ['shelf.cjs'], env: { SHELF: `\${LANG}` } },
    gone: { command: 'no-such-program' },
  }
  service.upstream.next(
    call('write', { path: 'shelf.cjs', content: shelf }),
    call('write', { path: '.mcp.json', content: JSON.stringify({ mcpServers }) }),
    says({ text: 'There.' }),
  )
  const session = await service.test.api.createSession({}, 'Make a shelf')
  await ended(session)
  service.upstream.next(call('mcp__shelf__find', { title: 'Emma' }), says({ text: 'Found.' }))
  const run = await next(session, 'Find Emma')
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(activitiesOf(run)).toMatchObject([
    { name: 'mcp_server', status: 'failed', output: expect.stringContaining('no-such-program was not found') },
    { name: 'mcp__shelf__find', kind: 'read', status: 'succeeded', output: 'C.UTF-8 /workspace Emma' },
  ])
})

test("pages that the sandbox's proxy refuses fail in its words", async () => {
  const urls = ['http://10.0.0.1/admin', 'https://printer.local/', 'http://127.0.0.1:4199/']
  const [first, ...more] = urls.map(url => call('fetch', { url }))
  service.upstream.next(first ?? says({}), ...more, says({ text: 'None of them.' }))
  const run = await ended(await service.test.api.createSession({}, 'Read them'))
  expect(activitiesOf(run).map(({ name, kind, status, output }) => [name, kind, status, output])).toEqual([
    [
      'fetch',
      'fetch',
      'failed',
      expect.stringMatching(/cannot be read: refused by the sandbox's proxy: .*10\.0\.0\.1/),
    ],
    [
      'fetch',
      'fetch',
      'failed',
      expect.stringMatching(/cannot be read: refused by the sandbox's proxy: .*printer\.local/),
    ],
    [
      'fetch',
      'fetch',
      'failed',
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:4199\/ cannot be read: connect ECONNREFUSED/),
    ],
  ])
})

test('output that holds a NUL reaches the log and the model with a mark in its place', async () => {
  service.upstream.next(bash("printf 'a\\0b'"), says({ text: 'I say \0.' }))
  const session = await service.test.api.createSession({}, 'Look')
  const first = await ended(session)
  expect(outcomeOf(first)).toBe('completed completed - 1')
  expect(activitiesOf(first)).toMatchObject([{ output: 'a\ufffdb' }])
  expect(messagesOf(first)).toMatchObject([{ text: 'I say \ufffd.' }])
  service.upstream.next(says({ text: 'Seen.' }))
  expect(outcomeOf(await next(session, 'And again'))).toBe('completed completed - 1')
  expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toMatch(/a\ufffdb.*I say \ufffd\./)
})

test('a key that the provider refuses ends the run at once with a code and a message without the key', async () => {
  const before = service.upstream.requests.length
  service.upstream.next(refuses(401, `Incorrect API key provided: ${providerKey}`))
  const run = await ended(await service.test.api.createSession({}, 'hello'))
  expect(outcomeOf(run)).toBe('failed error model_credential_refused 1')
  expect(activitiesOf(run)).toMatchObject([
    {
      name: 'model',
      status: 'failed',
      output: expect.stringContaining("The provider refused the gateway's credential"),
    },
  ])
  expect(service.upstream.requests).toHaveLength(before + 1)
  expect(JSON.stringify(run)).not.toContain(providerKey)
})

test('a model that refuses fails the run with a code', async () => {
  service.upstream.next(refuses(400))
  const session = await service.test.api.createSession({}, 'hello')
  expect(outcomeOf(await ended(session))).toBe('failed error model_request_refused 1')
})
