import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import type { Session } from '@berth/contract'
import { Hosts } from '@berth/core/hosts/hosts.ts'
import { endTerminal, settleEnd, type TerminalRow } from '@berth/core/sessions/terminals/terminal-sql.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import { orderTerminal } from '@berth/sandboxes/terminal-line.ts'
import { type SignedIn, signInPerson } from '@berth/testing/accounts/signer.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, Resuming } from '@berth/testing/workspaces/resuming.ts'
import { leaseOf } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'
import { TerminalKeeper } from '../../src/host/terminal-keeper.ts'

let bench: Resuming
let person: SignedIn
beforeAll(async () => {
  bench = await Resuming.open()
  person = await signInPerson(db(), bench.test.tenant.organizationId)
})
afterAll(() => bench[Symbol.asyncDispose]())

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

const db = () => bench.test.db.database
const { signal } = new AbortController()
/** A supervisor that lives has to answer within `answerMs`, also on a busy machine. */
// bound: pauses between two looks or tries
const soon = { roundMs: 20, answerMs: 2_000, delays: { firstMs: 10, mostMs: 40 } }

/** Starts a worker and a keeper whose way to supervisors is replaced. */
async function keep(attach: (real: SandboxDriver, leaseId: string) => Promise<Duplex>): Promise<ExecutionContext> {
  const context = await bench.work(stack)
  const driver = brokenDriver(real => ({ attach: leaseId => attach(real, leaseId) }))(context.driver)
  const hosts = new Hosts([{ ...context.hosts.of(context.host), driver }])
  const keeper = new TerminalKeeper({ ...context, hosts }, { idleMs: 600_000 }, soon)
  await stack.use(keeper).start()
  return context
}

/** Asks for a terminal as the console does. @returns its id */
async function insertTerminal({ organizationId, id: sessionId }: Session, id: string = randomUUID()): Promise<string> {
  await db().query(
    `insert into terminals (id, organization_id, session_id, lease_id, person_id, membership_id, sign_in_id, origin, columns,
       rows, state, created_at, awake_until)
     select $1, $2, $3, l.id, $4, $5, $6, 'http://localhost', 80, 24, 'requested', now(), now() + interval '1 hour'
     from leases l where l.session_id = $3 and l.ended_at is null`,
    [id, organizationId, sessionId, person.personId, person.membershipId, person.signInId],
  )
  return id
}

async function row(id: string): Promise<TerminalRow & { end_owed: boolean }> {
  const { rows } = await db().query<TerminalRow & { end_owed: boolean }>('select * from terminals where id = $1', [id])
  if (rows[0] === undefined) throw new Error(`no terminal ${id}`)
  return rows[0]
}
const isStarted = (id: string) => until('a shell', async () => (await row(id)).state === 'started')

/** A supervisor that hears and never answers. @param orders what it heard */
function silent(orders: string[]): Duplex {
  return new Duplex({
    read() {},
    write(chunk, _, done) {
      orders.push(String(chunk))
      done()
    },
  })
}
const starts = (orders: readonly string[]) => orders.filter(order => order.includes('"start"')).length

describe('the keeper of terminals', () => {
  it('gives a shell up that no supervisor starts, says so, and still orders its end', async () => {
    const orders: string[] = []
    let isSilent = true
    const context = await keep((real, leaseId) =>
      isSilent ? Promise.resolve(silent(orders)) : real.attach(leaseId, signal),
    )
    const { session } = await bench.sealed('shell', 'true')
    const id = await insertTerminal(session)
    await until('the end', async () => (await row(id)).state === 'ended')
    expect(await row(id)).toMatchObject({ end_reason: 'failed', end_owed: true })
    expect(starts(orders)).toBe(5)
    // Another one starts once the supervisor answers, which is told of the end first.
    isSilent = false
    const later = await insertTerminal(session)
    await isStarted(later)
    expect((await row(id)).end_owed).toBe(false)
    expect(starts(orders)).toBe(5)
    await endTerminal(db(), later, 'closed', context.clock.now())
  })

  it('starts the shells of others while a supervisor is silent', async () => {
    const orders: string[] = []
    let stuck: string | undefined
    await keep((real, leaseId) => (leaseId === stuck ? Promise.resolve(silent(orders)) : real.attach(leaseId, signal)))
    const sessions = [
      (await bench.sealed('shell', 'true')).session,
      (await bench.sealed('shell', 'true')).session,
    ] as const
    stuck = await leaseOf(db(), sessions[0])
    const [first, second] = [await insertTerminal(sessions[0]), await insertTerminal(sessions[1])]
    await isStarted(second)
    expect((await row(first)).state).not.toBe('started')
    await until('the end', async () => (await row(first)).end_reason === 'failed')
    await endTerminal(db(), second, 'closed', new Date())
  })

  it('ends a shell that was closed while it was being started', async () => {
    const id = randomUUID()
    let isOpening = false
    let orders = 0
    const context = await keep(async (real, leaseId) => {
      const stream = await real.attach(leaseId, signal)
      if (isOpening) orders += 1
      if (orders === 1) {
        // The console has ended it, and asked the supervisor, which did not know it yet: nothing more is owed.
        await endTerminal(db(), id, 'closed', new Date())
        await settleEnd(db(), id)
      }
      return stream
    })
    const { session } = await bench.sealed('shell', 'true')
    const lease = await leaseOf(db(), session)
    const witness = await insertTerminal(session)
    await isStarted(witness)
    isOpening = true
    await insertTerminal(session, id)
    await until('an order to start it and one to end it', () => orders >= 2)
    const attach = { columns: 80, rows: 24 }
    await until('no shell', async () => {
      const stream = await context.driver.attach(lease, signal)
      const answer = await orderTerminal(stream, { id, attach }, signal)
      stream.destroy()
      if (!stream.closed) await once(stream, 'close')
      return answer.terminal === 'unknown'
    })
    expect((await row(id)).end_reason).toBe('closed')
    await endTerminal(db(), witness, 'closed', context.clock.now())
  })
})
