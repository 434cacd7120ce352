import type { Interaction, Session } from '@berth/client'
import { scriptedRuntimes, type TestService, until } from '@berth/testing/testing.ts'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { Line } from './line.ts'
import { Home, PeopleService } from './people-service.ts'

const stack = new AsyncDisposableStack()
let service: TestService
let line: Line
let home: Home
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  line = stack.use(await Line.open())
  const variables = { BERTH_ROLES: 'api,account,worker' }
  const people = stack.use(await PeopleService.start({ variables, config: { runtimes } }))
  service = people.test
  home = stack.use(await Home.make())
  await home.signIn(people, await people.newPerson())
  line.port = Number(new URL(service.url).port)
})
afterAll(() => stack.disposeAsync())

const main = new URL('../dist/berth.js', import.meta.url).pathname

/** Attaches with the tenant's key, or as the person of a home. */
function attach(
  id: string | null,
  terminal: boolean,
  args: readonly string[] = [],
  person: Home | null = null,
): BerthProcess {
  const it = new BerthProcess(['attach', ...(id === null ? [] : [id]), ...args], {
    cwd: person?.path ?? service.dataDir,
    env: person === null ? { BERTH_URL: line.url, BERTH_API_KEY: service.tenant.apiKey } : {},
    stdin: null,
    terminal,
    ...(terminal && { command: [`sh -c 'stty rows 30 cols 100; exec "$0" "$@"' ${process.execPath}`, main] as const }),
  })
  onTestFailed(() => console.error(JSON.stringify({ stdout: it.stdout, stderr: it.stderr }).slice(-6000)))
  return it
}

const begin = (script: string): Promise<Session> => service.api.createSession({ runtime: 'scripted' }, script)
const phase = async ({ id }: Session) => (await service.api.session(id)).phase
const idle = (session: Session) => until('an idle session', async () => (await phase(session)) === 'idle')
const open = ({ id }: Session) =>
  until('an open interaction', async () => {
    const answer = await service.api.get<{ interactions: Interaction[] }>(`/v1/sessions/${id}/interactions`)
    return answer.body.interactions[0] ?? false
  })

describe('in a terminal', () => {
  test('a session is read, spoken to and answered, and left', async () => {
    const session = await begin('say one\\ntwo')
    await idle(session)
    const it = attach(session.id, true)
    await it.shows('stdout', /› say one.*one\r+\ntwo\r+\n.*completed/s)

    it.key('permission make deploy\u001b\rsay af\bter\r')
    await it.shows(
      'stdout',
      /\? The agent asks to run a command.*action.*make deploy.*Allow it\? y yes, once · t for this turn/s,
    )
    it.key('maybe\r')
    await it.shows('stdout', 'type y, t, a or n, then Enter')
    it.key('y\r')
    await it.shows('stdout', /permission: yes.*ater.*completed/s)

    const colours = { type: 'string', title: 'Which colour?', enum: ['Red', 'Blue'] }
    const requestedSchema = { properties: { colour: colours, many: { type: 'integer' } }, required: ['colour', 'many'] }
    it.key(`ask ${JSON.stringify({ message: 'Paint', requestedSchema })}\r`)
    await it.shows('stdout', /\(1 of 2\).* 1 +Red.* 2 +Blue/s)
    it.key('2\r')
    await it.shows('stdout', '(2 of 2)')
    it.key('x\r')
    await it.shows('stdout', 'Enter a number.')
    it.key('7\r')
    await it.shows('stdout', /"content":\{"colour":"Blue","many":7\}.*completed/s)

    it.key('plan build \\u202e it\r')
    await it.shows('stdout', 'Approve the plan? y, or what to change')
    it.key('smaller\r')
    await it.shows('stdout', /plan: \w+/)
    await idle(session)
    it.key('\u0004')
    expect(await it.ended()).toBe(0)
    expect(it.stdout).toContain(`berth attach ${session.id}`)
  })

  test('without a session, those that wait for people come first, with the time that is left', async () => {
    const quiet = await service.api.createSession({ title: 'Quiet', runtime: 'scripted' }, 'say one')
    await idle(quiet)
    const asking = await service.api.createSession(
      { title: 'Asks \u001b[31mred', runtime: 'scripted' },
      'permission it',
    )
    await open(asking)
    await service.api.createSession({ title: 'Latest' })
    const it = attach(null, true)
    await it.shows(
      'stdout',
      / {2}1 {2}Asks \u241b\[31mred {2}.*asks to be allowed, (?:10:0\d|9:\d\d) left.* {2}2 {2}Latest {2}.*done.*Which session/s,
    )
    it.key('77\r')
    await it.shows('stdout', /Which session.*Which session/s)
    it.key('\r')
    await it.shows('stdout', /(?:10:0\d|9:\d\d) left to decide/)
    it.key('y\r')
    await it.shows('stdout', /permission: yes.*completed/s)
    it.key('\u0004')
    expect(await it.ended()).toBe(0)
    expect(it.stdout).toContain(`berth attach ${asking.id}`)

    const left = attach(null, true)
    await left.shows('stdout', 'Which session')
    left.key('\u0003')
    expect(await left.ended()).toBe(0)
    const piped = attach(null, false)
    expect(await piped.ended()).toBe(2)
    expect(piped.stderr).toContain('name a session')
  })

  test('who was first is said, and a message that was begun comes back', async () => {
    const session = await begin('wait ask\npermission rm\u202e -rf /\u200b\nsay done')
    const it = attach(session.id, true)
    await it.shows('stdout', '› ')
    it.key('and then')
    await it.shows('stdout', 'and then')
    expect((await service.api.session(session.id)).activeRunId).toBeDefined()
    await service.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    await it.shows('stdout', /cancelled/)
    await idle(session)
    it.key('\u0015permission rm\u202e -rf /\u200b\r')
    await it.shows('stdout', 'rm<U+202E> -rf /<U+200B>')
    it.key('and th')
    const { id, request } = await open(session)
    const decision = { requestId: request.approval?.requestId, choice: 'deny', idempotencyKey: 'k' }
    await service.api.put(`/v1/sessions/${session.id}/interactions/${id}/decision`, decision)
    await it.shows('stdout', 'Somebody else was first: denied')
    await it.shows('stdout', 'permission: no')
    it.key('\u0003\r')
    expect(await it.ended()).toBe(0)
  })

  test('a lost connection is made again, what is being said is shown at once, and Ctrl-C asks about the run', async () => {
    const session = await begin('permission it\nsay half\u001b]0;owned\u0007way\nwait never')
    const it = attach(session.id, true)
    await it.shows('stdout', 'Allow it?')
    line.cut()
    it.key('yes\r')
    // The message has not ended, so no Event has told of it.
    await it.shows('stdout', 'half\u241b]0;owned\u2407way')
    it.key('\u0003')
    await it.shows('stdout', 'Leave? Enter leaves and lets the run go on · s stops the run · Esc stays')
    it.key('\r')
    expect(await it.ended()).toBe(0)
    expect(it.stdout).toContain('the run goes on')
    expect(await phase(session)).toBe('running')

    const again = attach(session.id, true)
    await again.shows('stdout', 'working')
    again.key('\u0003')
    await again.shows('stdout', 's stops the run')
    again.key('s\r')
    await again.shows('stdout', /cancelled/)
    await idle(session)
    again.key('\u0003')
    expect(await again.ended()).toBe(0)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
    expect(it.stdout + again.stdout).not.toMatch(/\u001b\]|\u0007/)
  })
})

test('a person leaves a message while a run goes on, takes it back, and it is sent when the run ends', async () => {
  const session = await begin('wait never')
  const it = attach(session.id, true, [], home)
  await it.shows('stdout', 'working')
  it.key('say lat')
  it.key('er\r')
  await it.shows('stdout', 'next: say later  (Esc takes it back)')
  it.key('\u001b')
  await it.shows('stdout', /next: .*› .{0,20}say later/s)
  it.key(' on\r')
  await it.shows('stdout', 'next: say later on')
  await service.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
  await it.shows('stdout', /cancelled.*› say later on.*later on\r.*completed/s)
  it.key('\u0003')
  expect(await it.ended()).toBe(0)

  const keyed = attach(session.id, true)
  await keyed.shows('stdout', 'completed')
  // Two at once keep their order.
  keyed.key('wait never\rmore\r')
  await keyed.shows('stdout', /a run goes on; send it when the run has ended.*› .{0,20}more/s)
  await keyed.shows('stdout', /completed.*1m› wait never.*working/s)
  keyed.key('\u0004\u0003s\r')
  await keyed.shows('stdout', /cancelling/)
  await idle(session)
  keyed.key('\u0003')
  expect(await keyed.ended()).toBe(0)
})

describe('in a pipe', () => {
  test('the events of the active run come out, with the commands that answer it, and its exit code', async () => {
    const session = await begin('permission make deploy\nerror no')
    const { id, request } = await open(session)
    const it = attach(session.id, false)
    await it.shows('stderr', `berth approve ${session.id} ${id} --for chat\n  berth deny ${session.id} ${id}\n`)
    expect(it.stderr).toContain('berth: the agent asks to use execute: make deploy: {"command":"make deploy"}\n')
    const decision = { requestId: request.approval?.requestId, choice: 'allow_once', idempotencyKey: 'k' }
    await service.api.put(`/v1/sessions/${session.id}/interactions/${id}/decision`, decision)
    expect(await it.ended()).toBe(1)
    expect(it.lines.at(-1)).toMatch(/^\d+ svc\.run\.failed/)
    const rest = attach(session.id, false, ['--last', '1', '--json'])
    expect(await rest.ended()).toBe(0)
    expect(JSON.parse(rest.stdout)).toMatchObject({ type: expect.stringMatching(/^svc\./) })
  })
})
