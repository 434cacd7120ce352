import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { hostNames, leaseFiles } from '@berth/sandboxes/leases/lease-files.ts'
import { instanceOf } from '@berth/sandboxes/linux/instance.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { activitiesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, Gate, Resuming, type WorkerOptions } from '@berth/testing/workspaces/resuming.ts'
import { sandboxProcesses } from '@berth/testing/workspaces/sandbox-processes.ts'
import { leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'
import { AgentKeeper } from '../../src/host/agent-keeper.ts'
import { TerminalKeeper } from '../../src/host/terminal-keeper.ts'

let bench: Resuming
beforeAll(async () => {
  bench = await Resuming.open()
})
afterAll(() => bench[Symbol.asyncDispose]())

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const db = () => bench.test.db.database
const lease = (session: Session) => leaseOf(db(), session)

/** Starts a worker that ends agents soon after their Runs. */
async function work(options: WorkerOptions = {}): Promise<ExecutionContext> {
  // bound: agents are to be idle for so long
  const context = await bench.work(stack, { ...options, limits: { agentIdleMs: 200 } })
  await stack.use(new AgentKeeper(context)).start()
  return context
}

const comesTo = async ({ driver }: ExecutionContext, session: Session, state: string) => {
  const id = await lease(session)
  await until(`a ${state} sandbox`, async () => (await driver.stateOf(id)) === state)
}

/** Runs a Turn and returns its output. */
async function output(session: Session, script: string): Promise<unknown> {
  const run = await bench.next(session, script)
  expect(outcomeOf(run)).toBe('completed completed - 1')
  return activitiesOf(run).at(-1)?.['output']
}

test.each([1, 2])('an idle sandbox has no process with %i workers, and the next turn goes on in it', async count => {
  const context = await work()
  if (count > 1) await work()
  const { session } = await bench.sealed('shell', 'echo kept > file; echo kept > /tmp/file; echo kept > ~/file')
  const first = await lease(session)
  for (let turn = 0; turn < 2; turn += 1) {
    await comesTo(context, session, 'parked')
    // The outermost one ends behind the supervisor.
    await until('no process', async () => (await sandboxProcesses(bench.test.dataDir, first)).length === 0)
    expect(JSON.stringify(await output(session, 'cat file /tmp/file ~/file'))).toContain('kept\\nkept\\nkept')
  }
  expect(await lease(session)).toBe(first)
  await comesTo(context, session, 'parked')
  // The sweeper goes by, and takes it for alive.
  const other = await bench.sealed('shell', 'true')
  await comesTo(context, other.session, 'parked')
  expect((await bench.api.session(session.id)).workspace.state).toBe('attached')
})

test('an agent that keeps a conversation loads it again', async () => {
  const context = await work()
  const { session } = await bench.sealed('remembering', 'remember harbour')
  await comesTo(context, session, 'parked')
  const run = await bench.next(session, 'recall')
  expect(outcomeOf(run)).toBe('completed completed - 1')
  expect(JSON.stringify(run)).toContain('harbour')
})

test('a sandbox with a process of its own, and one whose driver cannot park, stand still as they are', async () => {
  let isAble = false
  const context = await work({
    driver: brokenDriver(real => ({ park: async (...given) => isAble && real.park(...given) })),
  })
  const { session } = await bench.sealed('shell', 'echo kept > file')
  await until('a stop for good', async () => {
    const { driver } = context
    return (await driver.stateOf(await lease(session))) === 'frozen' && (await agents(session)) === 0
  })
  isAble = true
  const serving = await bench.sealed(
    'shell',
    '(setsid sleep 600 >/dev/null 2>&1 </dev/null &); until pgrep -x sleep; do :; done',
  )
  const [id, server] = [await lease(serving.session), await output(serving.session, 'pgrep -x sleep')]
  await until('the end of its agent', async () => (await agents(serving.session)) === 0)
  await comesTo(context, serving.session, 'frozen')
  expect(await output(serving.session, 'pgrep -x sleep')).toEqual(server)
  expect(await lease(serving.session)).toBe(id)
  expect(JSON.stringify(await output(session, 'cat file'))).toContain('kept')
})

/** Counts the agents of a sandbox. */
async function agents(session: Session): Promise<number> {
  const pids = await sandboxProcesses(bench.test.dataDir, await lease(session))
  const lines = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')))
  return lines.filter(line => line.includes('shell.js')).length
}

test('a turn that comes in the moment of parking waits for it, and goes on', async () => {
  const gates = { before: new Gate(), after: new Gate() }
  const driver = brokenDriver(real => ({
    async park(leaseId, fence) {
      await gates.before.pass()
      const isParked = await real.park(leaseId, fence)
      await gates.after.pass()
      return isParked
    },
  }))
  await work({ driver })
  for (const gate of [gates.before, gates.after]) {
    gate.shut()
    const { session } = await bench.sealed('shell', 'echo kept > file')
    const first = await lease(session)
    await until('the moment of parking', async () => gate.waiting > 0)
    const { run } = await bench.api.submitTurn(session.id, 'cat file')
    gate.open()
    expect(outcomeOf(await bench.settled(session, run.id))).toBe('completed completed - 1')
    expect(await lease(session)).toBe(first)
  }
})

test('an idle sandbox is parked although a sweep stops it while its agent ends', async () => {
  const known = new Set<string>()
  const driver = brokenDriver(real => ({
    async attach(id, ...given) {
      const stream = await real.attach(id, ...given)
      // The first of a sandbox is its Run's.
      if (known.has(id)) await real.freeze(id)
      known.add(id)
      return stream
    },
  }))
  const context = await work({ driver })
  await comesTo(context, (await bench.sealed('shell', 'true')).session, 'parked')
})

test('a terminal starts a parked sandbox, which stays as it is afterwards', async () => {
  const context = await work()
  // bound: pauses between two looks or tries
  const soon = { roundMs: 20, answerMs: 2_000, delays: { firstMs: 10, mostMs: 40 } }
  const { session } = await bench.sealed('shell', 'echo kept > file')
  const first = await lease(session)
  await comesTo(context, session, 'parked')
  await stack.use(new TerminalKeeper(context, { idleMs: 600_000 }, soon)).start()
  const person = await signInPerson(db(), bench.test.tenant.organizationId)
  const id = randomUUID()
  await db().query(
    `insert into terminals (id, organization_id, session_id, lease_id, person_id, membership_id, sign_in_id, origin, columns,
       rows, state, created_at, awake_until)
     values ($1, $2, $3, $4, $5, $6, $7, 'http://localhost', 80, 24, 'requested', now(), now() + interval '1 hour')`,
    [id, session.organizationId, session.id, first, person.personId, person.membershipId, person.signInId],
  )
  const state = async () =>
    (await db().query<{ state: string }>('select state from terminals where id = $1', [id])).rows[0]
  await until('a shell', async () => (await state())?.state === 'started')
  expect(await context.driver.stateOf(first)).toBe('running')
  expect(JSON.stringify(await output(session, 'cat file'))).toContain('kept')
})

test('a parked sandbox ends with its lease, and one that is lost is made again from its checkpoint', async () => {
  const context = await work()
  const { session } = await bench.sealed('shell', 'echo kept > file')
  const first = await lease(session)
  await comesTo(context, session, 'parked')
  await bench.expire(session)
  await until('the end of the sandbox', async () => !(await context.driver.list()).includes(first))
  expect(JSON.stringify(await output(session, 'cat file'))).toContain('kept')

  const second = await lease(session)
  expect(second).not.toBe(first)
  await comesTo(context, session, 'parked')
  await writeFile(
    join(leaseFiles(instanceOf(bench.test.dataDir), second).host, hostNames.arguments),
    '--no-such-option',
  )
  const run = await bench.next(session, 'cat file')
  expect(JSON.stringify(activitiesOf(run))).toContain('kept')
  expect(await lease(session)).not.toBe(second)
})
