import { text } from 'node:stream/consumers'
import type { Session } from '@berth/contract'
import type { Api } from '@berth/testing/api/api.ts'
import { makeToken } from '@berth/testing/hosts/dialled-host.ts'
import { ScriptedHost } from '@berth/testing/hosts/scripted-host.ts'
import type { Prompt } from '@berth/testing/hosts/scripted-sandbox.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'

let test: TestService
type Organization = Awaited<ReturnType<TestService['newTenant']>>
let one: Organization
let other: Organization
beforeAll(async () => {
  test = await startTestService({
    variables: { BERTH_ROLES: 'api,gateway,worker', BERTH_COMPUTE: 'remote', BERTH_HOSTS_PORT: '0' },
  })
})
// A host that has left stays held for a while, and would get the Sessions of the next test.
beforeEach(async () => {
  one = await test.newTenant()
  other = await test.newTenant()
})
afterAll(() => test[Symbol.asyncDispose]())

const port = () => test.service.hostsPort ?? 0
const begin = (api: Api, message: string) => api.createSession({ runtime: 'shell' }, message)
const endsOf = async (api: Api, session: Session) =>
  (await api.events(session.id)).filter(({ type }) => /^svc\.run\.(completed|failed|crashed|cancelled)$/.test(type))
const textOf = async (api: Api, session: Session) => JSON.stringify(await api.events(session.id))
const leaseOf = async ({ id }: Pick<Session, 'id'>) => {
  const { rows } = await test.db.database.query<{ id: string; host: string }>(
    'select id, host from leases where session_id = $1 and ended_at is null',
    [id],
  )
  return rows[0]
}
const idle = (api: Api, session: Session) =>
  until('an idle session', async () => (await api.session(session.id)).phase === 'idle')
const ofOrganization = ({ tenant }: Organization) =>
  makeToken(test.db.database, { organizationId: tenant.organizationId })

it('takes a host for the one of its token, whatever else it says, and gives it nothing of another organization', async () => {
  const [own, theirs] = [await ofOrganization(one), await ofOrganization(other)]
  const wrong = new ScriptedHost({ id: own.id, token: own.token }, prompt => prompt.answer())
  await wrong.dial(port(), {
    'Berth-Host-Id': theirs.id,
    'Berth-Host-Organization': other.tenant.organizationId,
    'Svc-Organization': other.tenant.organizationId,
  })
  const session = await begin(one.api, 'mine')
  await until('it runs there', async () => (await endsOf(one.api, session)).length === 1)
  const foreign = await begin(other.api, 'theirs')
  const rows = async () => {
    const found = await test.db.database.query<{ id: string; organization_id: string; epoch: number; held: boolean }>(
      'select id, organization_id, epoch, connected_to is not null as held from hosts where id = any ($1) order by epoch',
      [[own.id, theirs.id]],
    )
    return found.rows
  }
  expect(await rows()).toEqual([
    { id: theirs.id, organization_id: other.tenant.organizationId, epoch: 0, held: false },
    { id: own.id, organization_id: one.tenant.organizationId, epoch: 1, held: true },
  ])
  const right = new ScriptedHost(theirs, prompt => prompt.answer())
  await right.dial(port())
  await until('it runs at its own', async () => (await endsOf(other.api, foreign)).length === 1)
  expect((await leaseOf(foreign))?.host).toBe(theirs.id)
  expect([...wrong.sandboxes.keys()]).toEqual([(await leaseOf(session))?.id])
  for (const { dialled } of [wrong, right]) dialled?.line.destroy()
})

it('ends no Run wrongly and writes nothing into another log for a host that lies', async () => {
  let victim: Prompt | undefined
  const honest = new ScriptedHost(await ofOrganization(one), prompt => {
    victim = prompt
    prompt.write('begun')
  })
  await honest.dial(port())
  const session = await begin(one.api, 'wait')
  await until('a running victim', () => victim !== undefined)
  const stolen = (await leaseOf(session))?.id ?? ''

  let holding: Prompt | undefined
  const liar = new ScriptedHost(
    await ofOrganization(other),
    prompt => {
      if (prompt.text === 'hold') {
        holding = prompt
        return
      }
      const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'slipped in' } }
      prompt.out({ method: 'session/update', params: { sessionId: session.id, update } })
      prompt.out({ id: 'never-asked', result: { stopReason: 'refusal' } })
      prompt.write('answer 1')
      prompt.answer()
      // Once more, and another end, and an exit that never was, twice.
      prompt.answer()
      prompt.out({ id: prompt.id, result: { stopReason: 'cancelled' } })
      prompt.out({ id: prompt.id, error: { code: -32000, message: 'failed' } })
      for (const code of [0, 137]) prompt.record('x', `${Date.now()} {"code":${code},"signal":null}`)
      prompt.write('after the end')
    },
    {
      // It claims the other host's lease, one of nobody, and its own.
      list: async () => [stolen, crypto.randomUUID(), ...liar.sandboxes.keys()],
      stateOf: async ({ params }) => (Object(params).leaseId === stolen ? 'gone' : 'running'),
    },
  )
  await liar.dial(port())
  const lied = await begin(other.api, 'first')
  await idle(other.api, lied)
  const ends = await endsOf(other.api, lied)
  expect(ends.map(({ type }) => type)).toEqual(['svc.run.completed'])
  // Whatever its sandbox says, and of which conversation, is said in its own Session.
  expect(await textOf(other.api, lied)).toContain('slipped inanswer 1')

  // While a sandbox of its own may, it asks the worker for what the other one's may.
  const held = await begin(other.api, 'hold')
  await until('a prompt that is held', () => holding !== undefined)
  for (const to of ['gateway', 'service', 'proxy']) {
    const refused = await liar.dialled?.line.callBack({ leaseId: stolen, to }, AbortSignal.timeout(30_000))
    refused?.on('error', () => undefined).write('GET /v1/models HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n')
    expect(refused && (await text(refused))).toBe(
      'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
    )
  }
  holding?.answer()
  await idle(other.api, held)

  // Several sweeps have heard the lies by then.
  await until('it is asked to destroy what nobody has', () => liar.calls.some(([name]) => name === 'destroy'))
  expect(honest.calls.filter(([name]) => name === 'destroy')).toEqual([])
  expect(liar.calls.filter(([name, id]) => name !== 'destroy' && id === stolen)).toEqual([])
  expect(liar.calls.filter(([, id]) => id === stolen)).toEqual([])
  expect(await endsOf(one.api, session)).toEqual([])
  victim?.write(' and over')
  victim?.answer()
  await until('the end of the victim', async () => (await endsOf(one.api, session)).length === 1)
  const log = await textOf(one.api, session)
  expect(log).not.toMatch(/slipped in|after the end|answer 1/)
  expect((await endsOf(one.api, session)).map(({ type }) => type)).toEqual(['svc.run.completed'])
  for (const { dialled } of [honest, liar]) dialled?.line.destroy()
})

it('ends a Run once whose host says that a sandbox lives which it has lost', async () => {
  const token = await ofOrganization(other)
  const made: string[] = []
  const host = new ScriptedHost(
    token,
    (prompt, leaseId) => {
      made.push(leaseId)
      prompt.write(`attempt ${made.length}`)
      if (made.length > 1) return prompt.answer()
      // The machine loses it without a word, and says that it lives.
      host.sandboxes.delete(leaseId)
      host.dialled?.line.destroy()
    },
    { stateOf: async () => 'running', list: async () => made },
  )
  const dialling = host.keepDialling(port)
  const session = await begin(other.api, 'lose it')
  await until('the end', async () => (await endsOf(other.api, session)).length > 0)
  await idle(other.api, session)
  expect((await endsOf(other.api, session)).map(({ type }) => type)).toEqual(['svc.run.completed'])
  expect((await leaseOf(session))?.id).toBe(made[1])
  const { rows } = await test.db.database.query(
    'select id, end_reason from leases where session_id = $1 and ended_at is not null',
    [session.id],
  )
  expect(rows).toEqual([{ id: made[0], end_reason: 'lost' }])
  await dialling[Symbol.asyncDispose]()
})
