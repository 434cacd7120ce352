import { readdir, readFile, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Session } from '@berth/contract'
import { withShortPath } from '@berth/sandboxes/egress/socket-directory.ts'
import { activitiesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, Resuming, type WorkerOptions } from '@berth/testing/workspaces/resuming.ts'
import { leaseDirectory, leaseOf, touch, workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ExecutionContext } from '../../src/claim/execution-context.ts'

let bench: Resuming
beforeAll(async () => {
  bench = await Resuming.open()
})
afterAll(() => bench[Symbol.asyncDispose]())

let stack = new AsyncDisposableStack()
let context: ExecutionContext
afterEach(async () => {
  // The next test freezes by other mechanisms, so it must not find leases that this one's workers froze.
  for (const leaseId of await context.driver.list()) await context.driver.destroy(leaseId)
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function work(options: WorkerOptions, on = stack): Promise<void> {
  context = await bench.work(on, options)
}

const lease = (session: Session) => leaseOf(bench.test.db.database, session)
const path = (session: Session, name: string) =>
  workspacePath(bench.test.db.database, bench.test.dataDir, session, name)
const outputOf = async (session: Session, script: string) =>
  activitiesOf(await bench.next(session, script)).map(({ output }) => output)

/** A script that leaves a process in its own session, which writes to its log all the time. */
const leave = (name: string) =>
  `setsid bash -c 'echo $$ > ${name}.pid; while :; do echo x >> ${name}.log; sleep 0.02; done' >/dev/null 2>&1 </dev/null &
  until [ -s ${name}.log ]; do sleep 0.02; done`

/** A script that reports whether that process lives, once it has written more than before. */
const growth = (name: string) =>
  `kill -0 $(cat ${name}.pid) || exit 0; n=$(wc -c < ${name}.log)
  until [ $(wc -c < ${name}.log) -gt $n ]; do sleep 0.02; done; echo ${name} grows`

/** A script that leaves short-lived processes, each of which starts its successor and ends. */
const leaveChains = `echo 'echo x >> chains.log; sleep 0.01; setsid bash chain &' > chain
  for n in 1 2; do bash chain >/dev/null 2>&1 </dev/null; done; until [ -s chains.log ]; do sleep 0.02; done`

/** Lists the command lines on this host that hold a word. */
async function commandsWith(word: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const lines = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return lines.filter(line => line.includes(word))
}

const frozen = (session: Session) =>
  until('a frozen sandbox', async () => (await context.driver.stateOf(await lease(session))) === 'frozen')

/**
 * Asks the proxy of a Session's sandbox for a tunnel, from outside.
 * @returns the first line of its answer
 */
async function tunnel(session: Session): Promise<string | undefined> {
  const run = `${leaseDirectory(bench.test.dataDir, await lease(session))}/run`
  return withShortPath(run, async short => {
    const socket = connect(short('proxy.sock')).end('CONNECT 192.0.2.1:9 HTTP/1.1\r\nHost: 192.0.2.1:9\r\n\r\n')
    return (await text(socket)).split('\r\n\r\n').at(-1)?.trim()
  })
}

type Means = readonly (readonly [name: string, options: WorkerOptions])[]
const best: Means = [['the best freezer of this host', {}]]
const legacy: Means = [['the freezer of cgroups of version 1', { cgroups: 'v1' }]]
const signals: Means = [['signals', { cgroups: false }]]

describe.each([...best, ...legacy, ...signals])('a lease between Runs, by %s', (_, options) => {
  it('freezes every process that a Turn left, and they continue with the next Turn', async () => {
    await work(options)
    const { session } = await bench.sealed('shell', leave('server'))
    await frozen(session)
    const { size } = await stat(await path(session, 'server.log'))
    // Others continue meanwhile: a Turn of another Session runs in its own sandbox.
    await bench.sealed('shell', leave('other'))
    expect((await stat(await path(session, 'server.log'))).size).toBe(size)
    expect(await outputOf(session, growth('server'))).toEqual(['server grows\n'])
    await frozen(session)
  })

  it('expires, and its frozen processes end', async () => {
    await work(options)
    const word = `frozen-${crypto.randomUUID()}`
    const { session } = await bench.sealed('shell', leave(word))
    await frozen(session)
    expect(await commandsWith(word)).not.toEqual([])
    await bench.expire(session)
    await until('nothing of the sandbox', async () => !(await context.driver.list()).includes(await lease(session)))
    expect(await commandsWith(word)).toEqual([])
  })
})

describe.each([...best, ...signals])('a lease between Runs, by %s', (_, options) => {
  it('reaches nothing, and does again with the next Turn', async () => {
    await work(options)
    const { session } = await bench.sealed('shell', 'true')
    expect(await tunnel(session)).toContain('no Run is active in this sandbox')
    const { run } = await bench.api.submitTurn(session.id, 'until [ -e go ]; do sleep 0.02; done')
    await until('a running run', async () => (await bench.api.session(session.id)).phase === 'running')
    expect(await tunnel(session)).toContain('this sandbox may not reach 192.0.2.1:9')
    await touch(bench.test.db.database, bench.test.dataDir, session, 'go')
    await bench.settled(session, run.id)
    expect(await tunnel(session)).toContain('no Run is active in this sandbox')
  })

  it('loses the detached processes of a cancelled Run and keeps earlier ones', async () => {
    await work(options)
    const word = `detached-${crypto.randomUUID()}`
    const { session } = await bench.sealed('shell', leave('server'))
    const script = `${leave(word)}; ${leaveChains}; : > begun; sleep 600`
    const { run } = await bench.api.submitTurn(session.id, script)
    await until('a process of its own', () =>
      path(session, 'begun')
        .then(stat)
        .catch(() => false as const),
    )
    expect(await commandsWith(word)).not.toEqual([])
    await bench.api.call('POST', `/v1/sessions/${session.id}/runs/${run.id}/cancel`)
    expect(outcomeOf(await bench.settled(session, run.id))).toBe('cancelled aborted - 1')
    await until('the end of what was detached', async () => (await commandsWith(word)).length === 0)
    await frozen(session)
    const { size } = await stat(await path(session, 'chains.log'))
    expect(await outputOf(session, growth('server'))).toEqual(['server grows\n'])
    expect((await stat(await path(session, 'chains.log'))).size).toBe(size)
  })

  it('is frozen by the sweeper if its worker died before it could', async () => {
    await work(options)
    const { session } = await bench.sealed('shell', leave('server'))
    await frozen(session)
    expect(await context.driver.thaw(await lease(session))).toBe(true)
    await frozen(session)
    expect(await context.driver.thaw(await lease(session))).toBe(true)
    expect(await outputOf(session, growth('server'))).toEqual(['server grows\n'])
  })

  it('continues with other workers after all have gone', async () => {
    const before = new AsyncDisposableStack()
    await work(options, before)
    const { session } = await bench.sealed('shell', leave('server'))
    // On a busy machine the seal does not wait for the last process, which the sweeper stops later.
    await frozen(session)
    await before.disposeAsync()
    await work(options)
    expect(await context.driver.stateOf(await lease(session))).toBe('frozen')
    expect(await outputOf(session, growth('server'))).toEqual(['server grows\n'])
  })

  it('is lost if it dies while frozen, and the next Turn gets another', async () => {
    await work(options)
    const { session } = await bench.sealed('shell', 'echo kept > note')
    await frozen(session)
    await context.driver.destroy(await lease(session))
    await bench.expired(session)
    expect(await outputOf(session, 'cat note')).toEqual(['kept\n'])
  })

  it('is not lost if a worker without the right to froze it under a Run', async () => {
    // bound: a pause between two looks
    await work({ ...options, limits: { pingMs: 4_000, pulseMs: 100 } })
    const session = await bench.api.createSession(
      { runtime: 'shell' },
      'until [ -e go ]; do sleep 0.02; done; echo went',
    )
    await until('a running run', async () => (await bench.api.session(session.id)).phase === 'running')
    await context.driver.freeze(await lease(session))
    await touch(bench.test.db.database, bench.test.dataDir, session, 'go')
    expect(outcomeOf(await bench.settled(session))).toBe('completed completed - 1')
  })

  it('is frozen from the start if only its workspace was requested', async () => {
    await work(options)
    const { session } = await bench.sealed('shell', 'echo kept > note')
    await bench.expire(session)
    const { status } = await bench.api.call('PUT', `/v1/sessions/${session.id}/workspace`)
    expect(status).toBe(200)
    await frozen(session)
    expect(await outputOf(session, 'cat note')).toEqual(['kept\n'])
  })
})

it('a lease whose state cannot be read keeps no other from being frozen', async () => {
  let broken: string | undefined
  const stateOf = brokenDriver(real => ({
    stateOf: async leaseId => {
      if (leaseId === broken) throw new Error('struck')
      return real.stateOf(leaseId)
    },
  }))
  await work({ driver: stateOf })
  const sessions = [
    (await bench.sealed('shell', 'true')).session,
    (await bench.sealed('shell', 'true')).session,
  ] as const
  // In either order.
  for (const [one, other] of [sessions, sessions.toReversed()]) {
    if (one === undefined || other === undefined) throw new Error('no session')
    broken = await lease(one)
    await frozen(other)
    expect(await context.driver.thaw(await lease(other))).toBe(true)
    await frozen(other)
  }
})
