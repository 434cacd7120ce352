import type { Session } from '@berth/contract'
import { makeToken } from '@berth/testing/hosts/dialled-host.ts'
import { ScriptedHost } from '@berth/testing/hosts/scripted-host.ts'
import type { Prompt } from '@berth/testing/hosts/scripted-sandbox.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'

let test: TestService
type Organization = Awaited<ReturnType<TestService['newTenant']>>
let one: Organization
beforeAll(async () => {
  test = await startTestService({
    variables: {
      ...{ BERTH_ROLES: 'api,gateway,worker', BERTH_COMPUTE: 'remote', BERTH_HOSTS_PORT: '0' },
    },
    hostCalls: { shortMs: 5_000, quietMs: 5_000, createMs: 5_000 },
    // bound: a rest, after which the host is asked again
    hostRests: { firstMs: 500, mostMs: 500 },
  })
})
beforeEach(async () => {
  one = await test.newTenant()
})
afterAll(() => test[Symbol.asyncDispose]())

const port = () => test.service.hostsPort ?? 0
const ends = async ({ id }: Session) =>
  (await one.api.events(id)).filter(({ type }) => /^svc\.run\.(completed|failed|crashed|cancelled)$/.test(type))
const end = (session: Session) => until('the end of the Run', async () => (await ends(session))[0])
const newHost = async (prompted: (prompt: Prompt) => void) =>
  new ScriptedHost(await makeToken(test.db.database, { organizationId: one.tenant.organizationId }), prompted)
const callsOf = (host: ScriptedHost, name: string) => host.calls.filter(([call]) => call === name).length
const sql = (text: string, ...values: unknown[]) => test.db.database.query({ text, values })

it.each(['create', 'attach', 'writeInputs'])('goes on with a Run once its host answers %s again', async name => {
  const host = await newHost(prompt => prompt.answer())
  host.hangs.add(name)
  await using _ = host.keepDialling(port)
  const session = await one.api.createSession({ runtime: 'shell' })
  const content = Buffer.from('a note').toString('base64')
  await one.api.submitTurn(session.id, 'hello', { files: [{ name: 'notes.txt', mediaType: 'text/plain', content }] })
  await until('two calls that hang', () => callsOf(host, name) > 1)
  expect(await ends(session)).toEqual([])
  host.hangs.delete(name)
  expect(await end(session)).toMatchObject({ type: 'svc.run.completed' })
  expect(host.sandboxes.size).toBe(1)
})

it('gives a Run whose host hangs to another once that host is lost', async () => {
  const hung = await newHost(prompt => prompt.answer())
  hung.hangs.add('attach')
  await hung.dial(port())
  const session = await one.api.createSession({ runtime: 'shell' }, 'hello')
  await until('a call that hangs', () => callsOf(hung, 'attach') > 0)
  const other = await newHost(prompt => prompt.answer())
  await other.dial(port())
  await hung.dialled?.line.closed
  await until('a host that nobody holds', async () => {
    const { rows } = await sql('select 1 from hosts where id = $1 and connected_to is null', hung.id)
    return rows.length > 0
  })
  await sql("update hosts set heard_at = now() - interval '1 hour' where id = $1", hung.id)
  await sql("update hosts set heard_since = now() - interval '2 hours' where id = $1", other.id)
  expect(await end(session)).toMatchObject({ type: 'svc.run.completed' })
  expect(other.sandboxes.size).toBe(1)
  other.dialled?.line.destroy()
})

it('ends a Run that is cancelled, or whose time is over, while its host hangs', async () => {
  const prompts: Prompt[] = []
  const host = await newHost(prompt => void prompts.push(prompt))
  await using _ = host.keepDialling(port)
  const cancelled = await one.api.createSession({ runtime: 'shell' }, 'to be cancelled')
  const late = await one.api.createSession({ runtime: 'shell' }, 'to be late')
  await until('both at work', () => prompts.length === 2)
  host.hangs.add('attach')
  const before = callsOf(host, 'attach')
  host.dialled?.line.destroy()
  await until('calls that hang', () => callsOf(host, 'attach') > before)
  const { activeRunId } = await one.api.session(cancelled.id)
  await one.api.call('POST', `/v1/sessions/${cancelled.id}/runs/${activeRunId}/cancel`)
  await sql("update runs set started_at = started_at - interval '5 hours' where session_id = $1", late.id)
  expect(await end(cancelled)).toMatchObject({ type: 'svc.run.cancelled' })
  expect(await end(late)).toMatchObject({
    type: 'svc.run.crashed',
    data: { stopReason: 'execution_deadline', errorCode: 'turn_execution_lost' },
  })
  host.hangs.delete('attach')
})
