import { takeRoom } from '@berth/core/hosts/pod-host-sql.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { CallHandlers } from '@berth/sandboxes/line/serve-line.ts'
import { makeToken } from '@berth/testing/hosts/dialled-host.ts'
import { ScriptedHost } from '@berth/testing/hosts/scripted-host.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

/** More than a Run may have attempts. */
const MANY = 4

let test: TestService
type Organization = Awaited<ReturnType<TestService['newTenant']>>
let one: Organization
let pods: ScriptedHost[] = []
beforeAll(async () => {
  test = await startTestService({
    variables: { BERTH_ROLES: 'api,worker', BERTH_COMPUTE: 'remote', BERTH_HOSTS_PORT: '0' },
    fixed: { maxAttempts: 2, maxHandovers: MANY },
  })
})
beforeEach(async () => {
  pods = []
  one = await test.newTenant()
  return () => {
    for (const { dialled } of pods) dialled?.line.destroy()
  }
})
afterAll(() => test[Symbol.asyncDispose]())

const sql = <Row extends object>(text: string, ...values: unknown[]) => test.db.database.query<Row>({ text, values })
const callsOf = (host: ScriptedHost, name: string) => host.calls.filter(([call]) => call === name).length

/** A pod that waits for a lease, and has one in its life. */
async function waitingPod(lies: CallHandlers = {}): Promise<ScriptedHost> {
  const { organizationId } = one.tenant
  const token = await makeToken(test.db.database, { organizationId, capacity: 1 })
  await sql("update hosts set provisioner = 'a cluster' where id = $1", token.id)
  const pod = new ScriptedHost(token, prompt => prompt.answer(), lies)
  await pod.dial(test.service.hostsPort ?? 0)
  await until('it may be given', async () => {
    const { rows } = await sql('select 1 from hosts where id = $1 and heard_at > now() - interval $$1 minute$$', pod.id)
    return rows.length > 0 && pod.dialled?.calls.includes('facts')
  })
  pods.push(pod)
  return pod
}

const runOf = async (runId: string | null | undefined) => {
  const { rows } = await sql<{ attempts: number; status: string }>(
    'select attempts, status from runs where id = $1',
    runId,
  )
  return rows[0]
}
/** A Run that has ended well, at its first attempt. */
const wentWell = { status: 'completed', attempts: 1 }
const ended = async ({ id, activeRunId }: { id: string; activeRunId?: string | null }) => {
  await one.api.runEnded(id, activeRunId ?? '')
  return await runOf(activeRunId)
}

describe('a pod that has had its lease', () => {
  it('gets no second one, however short the first was', async () => {
    const spent = await waitingPod()
    const first = await one.api.createSession({ runtime: 'shell' }, 'one')
    expect(await ended(first)).toEqual(wentWell)
    await one.api.call('DELETE', `/v1/sessions/${first.id}`)
    const second = await one.api.createSession({ runtime: 'shell' }, 'two')
    const next = await waitingPod()
    expect(await ended(second)).toEqual(wentWell)
    expect([spent, next].map(pod => callsOf(pod, 'create'))).toEqual([1, 1])
  })

  it('is given to one of two that take it at once', async () => {
    const { id } = await waitingPod()
    const taken = await Promise.all([1, 2, 3].map(() => test.db.database.transaction(tx => takeRoom(tx, id))))
    expect(taken.toSorted()).toEqual([false, false, true])
  })

  it('is given to nobody if it is gone', async () => {
    expect(await test.db.database.transaction(tx => takeRoom(tx, 'never heard of'))).toBe(false)
  })

  it('gets no second one for a sandbox that is made again', async () => {
    const first = await waitingPod()
    first.hangs.add('create')
    const session = await one.api.createSession({ runtime: 'shell' }, 'one')
    await until('it is being made', () => callsOf(first, 'create') === 1)
    // As if another process had taken the Run over while its sandbox was being made.
    await sql("update executions set expires_at = 'epoch' where session_id = $1", session.id)
    const next = await waitingPod()
    expect(await ended(session)).toEqual(wentWell)
    expect([first, next].map(pod => callsOf(pod, 'create'))).toEqual([1, 1])
  })
})

describe('a Run keeps its attempts, and begins in another pod,', () => {
  it('if its pods die before they have a sandbox', async () => {
    for (let n = 0; n < MANY; n += 1) {
      const pod = await waitingPod({
        create: async () => {
          pod.dialled?.line.destroy()
          return null
        },
      })
    }
    const session = await one.api.createSession({ runtime: 'shell' }, 'one')
    await until('all of them have died', () => pods.every(({ dialled }) => dialled?.calls.includes('create')))
    await waitingPod()
    expect(await ended(session)).toEqual(wentWell)
  })

  it('if their sandboxes are gone before its agent begins', async () => {
    const attach = async () => {
      throw new SandboxGoneError('the container of the sandbox has ended')
    }
    for (let n = 0; n < MANY; n += 1) await waitingPod({ attach })
    const session = await one.api.createSession({ runtime: 'shell' }, 'one')
    await until('all of them were tried', () => pods.every(({ dialled }) => dialled?.calls.includes('attach')))
    await waitingPod()
    expect(await ended(session)).toEqual(wentWell)
  })
})

describe('a pod whose line is cut', () => {
  let cut: ScriptedHost
  let session: Awaited<ReturnType<Organization['api']['createSession']>>
  beforeEach(async () => {
    cut = await waitingPod()
    cut.dialled?.line.destroy()
    await cut.dialled?.line.closed
    // The service sees it with the next thing that comes over the network.
    await one.api.call('GET', '/v1/sessions')
    session = await one.api.createSession({ runtime: 'shell' }, 'one')
  })

  it('gets no sandbox, and the Run begins in another pod', async () => {
    await waitingPod()
    expect(await ended(session)).toEqual(wentWell)
    expect(callsOf(cut, 'create')).toBe(0)
    expect((await sql('select 1 from hosts where id = $1 and cordoned_at is null', cut.id)).rows).toHaveLength(1)
  })

  it('gets the Run that has waited once it dials again', async () => {
    await cut.dial(test.service.hostsPort ?? 0)
    expect(await ended(session)).toEqual(wentWell)
    expect(callsOf(cut, 'create')).toBe(1)
  })
})

it('ends a Run that has lost more hosts than it may', async () => {
  const attach = async () => {
    throw new SandboxGoneError('the container of the sandbox has ended')
  }
  const session = await one.api.createSession({ runtime: 'shell' }, 'one')
  const dying = async () => {
    while ((await runOf(session.activeRunId))?.status !== 'crashed') {
      const pod = await waitingPod({ attach })
      await until('it was tried, or the Run is over', async () => {
        return pod.dialled?.calls.includes('attach') || (await runOf(session.activeRunId))?.status === 'crashed'
      })
    }
  }
  await dying()
  // Each of the two attempts that count comes after as many that do not.
  expect(pods.filter(({ dialled }) => dialled?.calls.includes('attach'))).toHaveLength(2 * (MANY + 1))
  expect(await runOf(session.activeRunId)).toEqual({ status: 'crashed', attempts: 2 })
})
