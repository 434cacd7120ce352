import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { capabilities, type Session } from '@berth/contract'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { activitiesOf } from '@berth/testing/runs/ended-run.ts'
import { outcome, tally } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, Gate, Resuming } from '@berth/testing/workspaces/resuming.ts'
import { leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let bench: Resuming
let standIn: WorkerStandIn
let stack: AsyncDisposableStack
beforeAll(async () => {
  bench = await Resuming.open()
  standIn = new WorkerStandIn(bench.test.db.database)
})
afterAll(() => bench[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(async () => {
  await stack.disposeAsync()
  await bench.test.db.database.query('delete from workspace_requests')
})

const release = (session: Pick<Session, 'id'>, api = bench.api) =>
  api.call('DELETE', `/v1/sessions/${session.id}/workspace`)
const restore = (session: Session) => bench.api.call('PUT', `/v1/sessions/${session.id}/workspace`)
const query = <Row>(text: string, values: unknown[]) =>
  bench.test.db.database.query<Row & Record<string, unknown>>(text, values)

async function attached(): Promise<Session> {
  const session = await bench.api.createSession({ runtime: 'shell' })
  await standIn.attach(session)
  return bench.api.session(session.id)
}

const fact = async (session: Session) => (await bench.api.session(session.id)).workspace.state
const expiries = async (session: Session) =>
  (await bench.api.events(session.id)).filter(({ type }) => type === 'svc.workspace.expired').length

describe('an idle workspace whose work is sealed', () => {
  it('is given back once, and the next turn gets a fresh sandbox with that work', async () => {
    await bench.work(stack)
    const { session } = await bench.sealed('shell', 'echo kept > note; sleep 1000 & echo $! > /tmp/pid')
    const before = await leaseOf(bench.test.db.database, session)
    expect(await fact(session)).toBe('attached')
    expect([(await release(session)).status, (await release(session)).status]).toEqual([204, 204])
    expect(await bench.api.session(session.id)).toMatchObject({
      workspace: { state: 'expired' },
      continuation: { state: 'restorable', canContinue: true },
    })
    expect(await expiries(session)).toBe(1)
    await until('the end of the sandbox', async () => {
      return !(await readdir(join(bench.test.dataDir, 'leases'))).includes(before)
    })
    expect(activitiesOf(await bench.next(session, 'cat note; ls /tmp/pid 2>&1 || true'))).toMatchObject([
      { output: expect.stringMatching(/^kept\n.*No such file/) },
    ])
    expect(await leaseOf(bench.test.db.database, session)).not.toBe(before)
  })

  it('is given back before the first turn, too', async () => {
    const session = await attached()
    expect((await release(session)).status).toBe(204)
    expect(await bench.api.session(session.id)).toMatchObject({
      workspace: { state: 'expired' },
      continuation: { state: 'fresh' },
    })
  })

  it('is nothing to give back where there is none', async () => {
    const session = await bench.api.createSession({ runtime: 'shell' })
    expect((await release(session)).status).toBe(204)
    expect((await bench.api.session(session.id)).lastEventSequence).toBe(session.lastEventSequence)
  })
})

describe('a workspace that is needed stays', () => {
  it('during a run, in each of its states', async () => {
    const session = await attached()
    const { run } = await bench.api.submitTurn(session.id, 'true')
    for (const status of ['queued', 'dispatching', 'running', 'awaiting']) {
      await query('update runs set status = $2, started_at = now() where id = $1', [run.id, status])
      const answer = await release(session)
      expect([outcome(answer), answer.headers.get('retry-after')]).toEqual(['409 cloud_run_in_progress', '2'])
    }
    expect(await fact(session)).toBe('attached')
  })

  it('while its run is being sealed', async () => {
    const session = await attached()
    await query(
      `insert into executions (organization_id, session_id, token, task, attempt, holder, acquired_at, heartbeat_at,
         expires_at)
       values ($1, $2, 1, 'seal', 1, 'somebody', now(), now(), now() + interval '1 hour')`,
      [session.organizationId, session.id],
    )
    const answer = await release(session)
    expect([outcome(answer), answer.headers.get('retry-after')]).toEqual(['409 cloud_session_finalizing', '2'])
    expect(await fact(session)).toBe('attached')
  })

  it('if only it holds the work of the last run', async () => {
    const session = await attached()
    const { run } = await bench.api.submitTurn(session.id, 'true')
    await standIn.start(session, run.id)
    await standIn.end(session, run.id)
    expect(outcome(await release(session))).toBe('409 cloud_resume_unavailable')
    expect([await fact(session), await expiries(session)]).toEqual(['attached', 0])
  })

  it('if a sealed run was followed by one that crashed unsealed', async () => {
    await bench.work(stack)
    const { session } = await bench.sealed('shell', 'echo kept > note')
    await stack.disposeAsync()
    const { run } = await bench.api.submitTurn(session.id, 'true')
    await standIn.start(session, run.id)
    await standIn.end(session, run.id, { status: 'crashed' })
    expect(outcome(await release(session))).toBe('409 cloud_resume_unavailable')
    expect(await fact(session)).toBe('attached')
  })

  it('while a worker makes it for somebody', async () => {
    const gate = new Gate()
    gate.shut()
    const driver = brokenDriver(real => ({
      create: async spec => {
        await gate.pass()
        await real.create(spec)
      },
    }))
    await bench.work(stack, { driver })
    stack.defer(() => gate.open())
    const session = await bench.api.createSession({ runtime: 'shell' })
    const restoring = restore(session)
    await until('a sandbox in the making', () => gate.waiting > 0)
    const answer = await release(session)
    expect([outcome(answer), answer.headers.get('retry-after')]).toEqual(['503 cloud_workspace_starting', '2'])
    gate.open()
    expect((await restoring).status).toBe(200)
    expect((await release(session)).status).toBe(204)
  })
})

describe('a release', () => {
  it('is refused to who may not submit turns, and finds no session of another tenant and no archived one', async () => {
    const session = await attached()
    const { organizationId, appSlug } = bench.test.tenant
    const held = capabilities.filter(name => name !== 'svc.cloud.turns:submit')
    const { apiKey } = await createInstallation(bench.test.db.database, organizationId, appSlug, held)
    expect(outcome(await release(session, new Api(bench.test.url, apiKey)))).toBe('403 insufficient_scope')
    const other = await bench.test.newTenant()
    expect(outcome(await release(session, other.api))).toBe('404 cloud_session_not_found')
    expect(outcome(await release({ id: randomUUID() }))).toBe('404 cloud_session_not_found')
    expect(await fact(session)).toBe('attached')
    await bench.api.call('DELETE', `/v1/sessions/${session.id}`)
    expect(outcome(await release(session))).toBe('404 cloud_session_not_found')
  })

  it('and a turn at the same time: the turn keeps the sandbox, or gets a fresh one', async () => {
    await bench.work(stack)
    const { session } = await bench.sealed('shell', 'echo kept > note')
    const [released, turn] = await Promise.all([release(session), bench.api.submitTurn(session.id, 'cat note')])
    expect(['204', '409 cloud_run_in_progress']).toContain(outcome(released))
    expect(activitiesOf(await bench.settled(session, turn.run.id))).toMatchObject([{ output: 'kept\n' }])
  })

  it('that many ask for at once ends one lease, also beside an archiving', async () => {
    const session = await attached()
    const answers = await Promise.all(Array.from({ length: 6 }, () => release(session)))
    expect(tally(answers)).toEqual({ 204: 6 })
    expect(await expiries(session)).toBe(1)
    const another = await attached()
    const [archived, given] = await Promise.all([
      bench.api.call('DELETE', `/v1/sessions/${another.id}`),
      release(another),
    ])
    expect(archived.status).toBe(204)
    expect(['204', '404 cloud_session_not_found']).toContain(outcome(given))
    const { rows } = await query('select 1 from leases where session_id = $1 and ended_at is null', [another.id])
    expect(rows).toEqual([])
  })
})
