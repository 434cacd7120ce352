import type { CallHandlers } from '@berth/sandboxes/line/serve-line.ts'
import { makeToken } from '@berth/testing/hosts/dialled-host.ts'
import { HostProgram } from '@berth/testing/hosts/host-program.ts'
import { ScriptedHost } from '@berth/testing/hosts/scripted-host.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

/** Hosts that a request may lose. */
const MANY = 3

let test: TestService
let machine: HostProgram
let pods: ScriptedHost[] = []
beforeAll(async () => {
  test = await startTestService({
    variables: { BERTH_ROLES: 'api,worker', BERTH_COMPUTE: 'remote', BERTH_HOSTS_PORT: '0' },
    fixed: { maxAttempts: 2, maxHandovers: MANY },
  })
  machine = await HostProgram.of(test)
  machine.start()
})
afterAll(async () => {
  await machine[Symbol.asyncDispose]()
  await test[Symbol.asyncDispose]()
})
beforeEach(() => {
  pods = []
  return () => {
    for (const { dialled } of pods) dialled?.line.destroy()
  }
})

const sql = <Row extends object>(text: string, ...values: unknown[]) => test.db.database.query<Row>({ text, values })
const restore = (id: string) => test.api.call('PUT', `/v1/sessions/${id}/workspace`)
const tried = () => pods.filter(({ dialled }) => dialled?.calls.includes('create'))

/** Lets the machine get sandboxes, or not. */
const open = (isOpen: boolean) =>
  sql('update hosts set cordoned_at = case when $2 then null else now() end where id = $1', machine.id, isOpen)

/** A pod that dies of its first call of a kind. */
async function dyingPod(call: string): Promise<void> {
  const { organizationId } = test.tenant
  const token = await makeToken(test.db.database, { organizationId, capacity: 1 })
  await sql("update hosts set provisioner = 'a cluster' where id = $1", token.id)
  const dies: CallHandlers[string] = async () => {
    pod.dialled?.line.destroy()
    // As the provisioner says of a pod that is gone.
    await sql("update hosts set heard_at = 'epoch', connected_to = null where id = $1", token.id)
    return null
  }
  const pod = new ScriptedHost(token, prompt => prompt.answer(), { [call]: dies })
  await pod.dial(test.service.hostsPort ?? 0)
  await until('it may be given', async () => {
    const { rows } = await sql('select 1 from hosts where id = $1 and heard_at > now() - interval $$1 minute$$', pod.id)
    return rows.length > 0 && pod.dialled?.calls.includes('facts')
  })
  pods.push(pod)
}

/** A Session whose work is sealed, and that has no workspace. */
async function restedSession(): Promise<string> {
  await open(true)
  const { id, activeRunId } = await test.api.createSession({ runtime: 'shell' }, 'echo kept > note')
  await test.api.runEnded(id, activeRunId ?? '')
  await until('it is sealed', async () => (await test.api.session(id)).phase === 'idle')
  expect((await test.api.call('DELETE', `/v1/sessions/${id}/workspace`)).status).toBe(204)
  await open(false)
  return id
}

describe('a workspace that is asked for', () => {
  it.each([
    ['get their sandbox', 'create'],
    ['have its files', 'run'],
  ])('comes from another host if pods die before they %s', async (_, call) => {
    const id = await restedSession()
    for (let n = 0; n < MANY; n += 1) await dyingPod(call)
    const restoring = restore(id)
    await until('all of them have died', () => tried().length === MANY)
    await open(true)
    expect(await restoring).toMatchObject({ status: 200, body: { session: { workspace: { state: 'attached' } } } })
    const { run } = await test.api.submitTurn(id, 'cat note')
    const events = await test.api.runEnded(id, run.id)
    expect(events.findLast(event => event.type === 'svc.activity.completed')?.data).toMatchObject({ output: 'kept\n' })
  })

  it('fails once it has lost more hosts than it may, and may be asked for again', async () => {
    const id = await restedSession()
    for (let n = 0; n <= MANY + 1; n += 1) await dyingPod('create')
    expect(await restore(id)).toMatchObject({ status: 503, body: { error: 'cloud_workspace_unavailable' } })
    expect(tried()).toHaveLength(MANY + 1)
    await open(true)
    for (const { dialled } of pods) dialled?.line.destroy()
    expect(await restore(id)).toMatchObject({ status: 200 })
  })
})
