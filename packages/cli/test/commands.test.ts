import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { frame, openStream, sendJson } from '@berth/client/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { runEvent } from './event-fixtures.ts'
import { run, ScriptedService, session } from './scripted-service.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
afterAll(() => rmSync(cwd, { recursive: true }))

const berth = (service: ScriptedService, ...args: string[]) => new BerthProcess(args, { cwd, env: service.env })

test('events prints the whole log over several pages, or the part after a sequence', async () => {
  await using service = await ScriptedService.start()
  for (let i = 0; i < 250; i++) service.append('svc.run.progress', { name: 'bash', status: 'started' })
  const all = berth(service, 'events', session.id)
  expect(await all.ended()).toBe(0)
  expect(all.lines).toHaveLength(250)
  const rest = berth(service, 'events', session.id, '--after', '248', '--json')
  expect(await rest.ended()).toBe(0)
  expect(rest.lines.map(line => JSON.parse(line).sequence)).toEqual([249, 250])
})

test('open prints the address of the page, and opens nothing where nobody looks', async () => {
  await using service = await ScriptedService.start()
  const it = berth(service, 'open', session.id)
  expect(await it.ended()).toBe(0)
  expect(it.lines).toEqual([session.sessionUrl])
})

test('events --follow continues after a lost connection, and ends on an interrupt', async () => {
  await using service = await ScriptedService.start(undefined, {
    stream: ({ index, response }) => {
      openStream(response)
      if (index > 0) return service.append('svc.run.completed')
      return response.write(frame(runEvent(2, 'svc.run.started', {})).slice(0, 20), () => response.socket?.destroy())
    },
  })
  service.append('svc.run.started', { attempt: 1 })
  const it = berth(service, 'events', session.id, '--follow')
  await it.shows('stdout', '2 svc.run.completed')
  it.interrupt()
  expect(await it.ended()).toBe('SIGINT')
  expect(it.lines).toEqual(['1 svc.run.started attempt 1', '2 svc.run.completed'])
  expect(it.stderr).toMatch(/^berth: connection lost/)
})

test('a reader that closes the output ends the command quietly', async () => {
  await using service = await ScriptedService.start()
  service.append('svc.run.started')
  const it = berth(service, 'events', session.id, '--follow')
  await it.shows('stdout', '1 svc.run.started')
  it.closeOutput()
  service.append('svc.run.completed')
  expect(await it.ended()).toBe(141)
  expect(it.stderr).toBe('')
})

test('sessions lists the sessions of several pages', async () => {
  await using service = await ScriptedService.start(({ path }, response) => {
    const { searchParams } = new URL(path, 'http://loopback')
    const second = searchParams.get('cursor') === 'next'
    const failed = { title: 'evil\u001b[2J\ntitle', status: 'failed', lastRun: { errorCode: 'model_unavailable' } }
    const changes = { revision: 'r', files: 4, additions: 1066, deletions: 0 }
    const sessions = [second ? { ...session, ...failed } : { ...session, changes }]
    sendJson(response, 200, { sessions, nextCursor: second ? null : 'next', hasMore: !second })
    return 'answered'
  })
  const it = berth(service, 'sessions', '--limit', '2', '--archived')
  expect(await it.ended()).toBe(0)
  const at = '2026-01-01T00:00:00.000Z'
  expect(it.lines).toEqual([
    `${session.id}\tDone\t4 files +1,066 −0\t${at}\tlist the files`,
    `${session.id}\tFailed: the model provider is down\t-\t${at}\tevil␛[2J\\ntitle`,
  ])
  expect(service.taken.map(({ path }) => path)).toEqual([
    '/v1/sessions?archived=true&limit=2',
    '/v1/sessions?archived=true&cursor=next&limit=1',
  ])
})

test('cancel cancels the named run, or the active one, or reports that there is none', async () => {
  let active: string | undefined = run.id
  await using service = await ScriptedService.start(({ method }, response) => {
    if (method !== 'GET') return undefined
    sendJson(response, 200, { session: { ...session, activeRunId: active } })
    return 'answered'
  })
  const one = berth(service, 'cancel', session.id)
  expect(await one.ended()).toBe(0)
  expect(one.lines).toEqual([`run ${run.id} queued, cancellation requested`])
  const named = berth(service, 'cancel', session.id, 'r2', '--json')
  expect(await named.ended()).toBe(0)
  active = undefined
  const none = berth(service, 'cancel', session.id)
  expect(await none.ended()).toBe(0)
  expect(none.stderr).toBe('berth: the session has no active run\n')
  expect(service.taken.filter(({ method }) => method === 'POST').map(({ path }) => path)).toEqual([
    `/v1/sessions/${session.id}/runs/${run.id}/cancel`,
    `/v1/sessions/${session.id}/runs/r2/cancel`,
  ])
})

test('fork makes a session where a run ended, by an id of its own', async () => {
  const made = { ...session, id: 'b0f5c1de-0000-4000-8000-000000000001' }
  await using service = await ScriptedService.start(({ path }, response) => {
    if (!path.endsWith('/forks')) return undefined
    sendJson(response, 201, { session: made })
    return 'answered'
  })
  const it = berth(service, 'fork', session.id, '--run', run.id, '--title', 'other')
  expect([await it.ended(), it.lines]).toEqual([0, [`session ${made.id} ${made.sessionUrl}`]])
  expect(service.taken.map(({ body }) => body)).toEqual([
    { id: expect.stringMatching(/^[0-9a-f-]{36}$/), runId: run.id, title: 'other' },
  ])
})

test('a message for the agent at work needs a session', async () => {
  await using service = await ScriptedService.start(() => undefined)
  const it = berth(service, 'run', 'rather this', '--steer')
  expect([await it.ended(), it.stderr]).toEqual([2, expect.stringContaining('--steer needs --session')])
})

test('reset resets a session, and succeeds if an earlier call whose answer was lost has reset it', async () => {
  let state = 'unavailable'
  await using service = await ScriptedService.start(({ method, path }, response) => {
    const now = { ...session, continuation: { state } }
    if (method === 'GET') sendJson(response, 200, { session: now })
    else if (!path.endsWith('/reset')) return undefined
    else if (state === 'unavailable') sendJson(response, 200, { session: now })
    else sendJson(response, 409, { error: 'cloud_reset_unavailable' })
    return 'answered'
  })
  for (const known of ['unavailable', 'fresh']) {
    state = known
    const it = berth(service, 'reset', session.id)
    expect(await it.ended()).toBe(0)
    expect(it.lines).toEqual([`session ${session.id} was reset; its next turn starts in a fresh workspace`])
  }
  state = 'live'
  const refused = berth(service, 'reset', session.id)
  expect(await refused.ended()).not.toBe(0)
  expect(refused.stderr).toMatch(/still has work/)
})

test.each([
  [401, { error: 'invalid_or_expired_credential' }, /refuses this key/],
  [
    403,
    { error: 'insufficient_scope', requiredScope: 'svc.cloud.sessions:read' },
    /lacks the scope svc\.cloud\.sessions:read/,
  ],
  [404, { error: 'cloud_session_not_found' }, /no such session/],
  [409, { error: 'cloud_run_in_progress' }, /active run/],
  [
    400,
    { error: 'invalid_request', issues: [{ path: ['limit'], message: 'must be <= 100' }] },
    /limit: must be <= 100/,
  ],
  [400, { error: 'evil\u001b[2J\ncode' }, /evil␛\[2J\\ncode/],
])('an answer of %i is reported in one line', async (status, body, line) => {
  await using service = await ScriptedService.start((_, response) => {
    sendJson(response, status, body)
    return 'answered'
  })
  const it = berth(service, 'sessions')
  expect(await it.ended()).toBe(1)
  expect(it.stderr).toMatch(line)
  expect(it.stderr.split('\n')).toHaveLength(2)
})

test('if the service does not run, the message says how to start it', async () => {
  const service = await ScriptedService.start()
  const { env, url } = service
  await service[Symbol.asyncDispose]()
  const it = new BerthProcess(['sessions'], { cwd, env })
  expect(await it.ended()).toBe(1)
  expect(it.stderr).toBe(`berth: nothing answers at ${url}; start the service with script/server\n`)
})

test('without settings, a command uses the local service, and sends its key nowhere else', async () => {
  await using service = await ScriptedService.start((_, response) => {
    sendJson(response, 200, { sessions: [], nextCursor: null, hasMore: false })
    return 'answered'
  })
  const data = join(mkdtempSync(join(cwd, 'home-')), '.berth')
  const home = join(data, '..')
  const nothing = new BerthProcess(['sessions'], { cwd: home })
  expect(await nothing.ended()).toBe(2)
  expect(nothing.stderr).toMatch(/no service to talk to/)
  mkdirSync(data)
  writeFileSync(join(data, 'dev.json'), JSON.stringify({ baseUrl: service.url, apiKey: 'local' }))
  expect(await new BerthProcess(['sessions'], { cwd: home }).ended()).toBe(0)
  expect(await new BerthProcess(['sessions'], { cwd, env: { BERTH_DATA_DIR: data } }).ended()).toBe(0)
  expect(await new BerthProcess(['sessions', '--url', `${service.url}/`], { cwd: home }).ended()).toBe(0)
  const stranger = new BerthProcess(['sessions', '--url', 'http://127.0.0.1:9'], { cwd: home })
  expect(await stranger.ended()).toBe(2)
  expect(stranger.stderr).toBe(
    'berth: no credential for http://127.0.0.1:9: sign in with `berth login --url http://127.0.0.1:9`, or set BERTH_API_KEY\n',
  )
  writeFileSync(join(data, 'dev.json'), '{')
  expect(await new BerthProcess(['sessions'], { cwd: home }).ended()).toBe(2)
})

describe('an open interaction', () => {
  const approval = { id: 'a1', kind: 'approval', request: { approval: { requestId: 'r1', title: 'make deploy' } } }
  const question = { id: 'q1', kind: 'ask_user', request: { questions: [{ question: 'Which?', options: ['a', 'b'] }] } }

  const start = (interactions: readonly object[]) =>
    ScriptedService.start(({ method, path }, response) => {
      if (method === 'GET' && path.endsWith('/interactions')) return sendAnswer(response, { interactions })
      if (path.endsWith('/decision')) return sendAnswer(response, { outcome: { resolution: 'turn_allowed' } })
      return undefined
    })
  const sendAnswer = (response: Parameters<typeof sendJson>[0], body: object) => {
    sendJson(response, 200, body)
    return 'answered'
  }

  test('is listed, one per line', async () => {
    const [which] = question.request.questions
    const both = [
      { ...which, fieldId: 'f' },
      { question: 'Why?', options: [] },
    ]
    await using service = await start([approval, question, { ...question, id: 'q2', request: { questions: both } }])
    const it = berth(service, 'interactions', session.id)
    expect(await it.ended()).toBe(0)
    expect(it.lines).toEqual([
      'a1  approval        make deploy',
      'q1  ask_user        Which? [a | b]',
      'q2  ask_user        f: Which? [a | b]; 1: Why?',
    ])
  })

  test('is answered with a turn, or decided with the request id of its approval', async () => {
    await using service = await start([approval, question])
    expect(await berth(service, 'answer', session.id, 'b').ended()).toBe(0)
    expect(await berth(service, 'approve', session.id, '--for', 'turn').ended()).toBe(0)
    expect(await berth(service, 'deny', session.id, 'a1').ended()).toBe(0)
    const bodies = service.taken.filter(({ method }) => method === 'PUT').map(({ body }) => body)
    expect(bodies).toEqual([
      { message: 'b', replyTo: { interactionId: 'q1' } },
      { requestId: 'r1', choice: 'allow_turn', idempotencyKey: expect.any(String) },
      { requestId: 'r1', choice: 'deny', idempotencyKey: expect.any(String) },
    ])
  })

  test('must be named if several are open, and an unknown scope is refused', async () => {
    await using service = await start([approval, { ...approval, id: 'a2' }])
    const it = berth(service, 'approve', session.id)
    expect(await it.ended()).toBe(2)
    expect(it.stderr).toMatch(/several interactions are open/)
    expect(await berth(service, 'approve', session.id, 'a2', '--for', 'ever').ended()).toBe(2)
    expect(service.taken.filter(({ method }) => method === 'PUT')).toEqual([])
  })
})
