import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { AskingHosts, fetchFrom, refusalsIn } from '@berth/testing/environments/asking-hosts.ts'
import { workerVariables } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NetworkAccess } from '../../src/claim/network-access.ts'

const stack = new AsyncDisposableStack()
let hosts: AskingHosts

beforeAll(async () => {
  hosts = stack.use(await AskingHosts.open())
})
afterAll(() => stack.disposeAsync())

const ask = { mode: 'ask', hosts: [] }

test('a worker that is killed while a connection waits leaves the approval open, and the next one finds the decision', async () => {
  // It asks before it resolves a name, and is never told to go on: nobody is asked for a name, and nobody is dialled.
  await using killed = await startServiceProcess({ ...workerVariables(hosts.test), BERTH_EGRESS: 'public' })
  const tries = `until [ "$answer" = 'reached killed.example.org' ]; do answer=$(curl -sS -m 60 http://killed.example.org/); sleep 0.2; done`
  const session = await hosts.session(ask, `${tries}; echo "$answer"`)
  const approval = await hosts.onlyOpen(session)
  await killed.kill('SIGKILL')
  expect((await hosts.onlyOpen(session)).id).toBe(approval.id)
  await using worker = new AsyncDisposableStack()
  await hosts.startWorker(worker)
  await hosts.decide(session, approval, 'allow_turn')
  const { output, events } = await hosts.ended(session)
  // The proxy of the connection that waited died with its worker.
  expect(output).toMatch(/reached killed\.example\.org\n$/)
  expect(events.filter(({ type }) => type === 'svc.interaction.opened')).toHaveLength(1)
})

test('a connection that waits for the claim of a worker that takes over is decided under it, whatever is written meanwhile', async () => {
  await using worker = new AsyncDisposableStack()
  const { context } = await hosts.startWorker(worker)
  const session = await hosts.session(ask, 'until [ -e /workspace/go ]; do sleep 0.1; done')
  const key = { organizationId: session.organizationId, sessionId: session.id }
  const lease = await until('a lease at work', async () => {
    const { rows } = await hosts.test.db.database.query(
      `select 1 from runs where session_id = $1 and status = 'running'`,
      [session.id],
    )
    const found = await findLiveLease(hosts.test.db.database, key)
    return rows.length > 0 && found?.state === 'attached' && found
  })
  // Of a worker that serves the proxy, and has no claim yet.
  using access = new NetworkAccess(context)
  const decision = access
    .route(lease)
    .network.decide({ host: 'taken.example.org', port: 80 }, AbortSignal.timeout(60_000))
  await access.flush(lease.id)
  await using opened = access.open(
    { ...key, token: 0, holder: 'nobody', runId: session.activeRunId ?? null },
    lease.id,
    {
      asksPeople: true,
    },
  )
  // This claim holds nothing. Without one, the answer would be that nobody is there.
  expect(await decision).toMatchObject({ allow: false, code: 'undecided' })
  expect(opened).toBeDefined()
  await hosts.touch(session, 'go')
  await hosts.ended(session)
})

test('a host about which nobody decides in time is refused for the Turn, and asked about in the next', async () => {
  await using worker = new AsyncDisposableStack()
  // bound: the approval is to time out
  await hosts.startWorker(worker, { limits: { approvalMs: 1500 } })
  const script = fetchFrom('late.example.org')
  const session = await hosts.session(ask, `${script}; sleep 3; ${script}`)
  const { output, events } = await hosts.ended(session)
  const [first, second] = output
    .trim()
    .split('\n')
    .filter(line => line !== '')
  // The connection gives up at the deadline, maybe before the sweeper closes the approval.
  expect(first).toMatch(
    /nobody (has decided about late\.example\.org:80 yet|decided in time about late\.example\.org:80)/,
  )
  expect(second).toMatch(/nobody decided in time about late\.example\.org:80, so it is refused for this turn/)
  expect(events.filter(({ type }) => type === 'svc.interaction.expired')).toHaveLength(1)
  expect(refusalsIn(events).at(-1)).toMatchObject({ reason: 'timed_out' })
  const next = await hosts.api.submitTurn(session.id, script)
  await hosts.onlyOpen(session)
  await hosts.ended(session, next.run.id)
})
