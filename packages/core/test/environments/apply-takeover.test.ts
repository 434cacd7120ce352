import type { Session } from '@berth/contract'
import { Applying, outputIn, outputs, waitFor } from '@berth/testing/environments/applying.ts'
import { uploadTo } from '@berth/testing/environments/archives.ts'
import { extensionOf, sha256Of } from '@berth/testing/environments/zip.ts'
import { type CrashMode, CrashPoint } from '@berth/testing/faults/crash-point.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { messagesOf, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { adoptLapsed, claimWorkspaces } from '@berth/worker/claim/claim-sql.ts'
import type { ExecutionContext } from '@berth/worker/claim/execution-context.ts'
import { Sweeper } from '@berth/worker/host/sweeper.ts'
import { executeRun } from '@berth/worker/run-execution.ts'
import { executeRestore } from '@berth/worker/workspace/execute-restore.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const stack = new AsyncDisposableStack()
let applying: Applying
let context: ExecutionContext
beforeAll(async () => {
  // bound: callers are to wait in vain for so long
  applying = stack.use(await Applying.open({ workspaceWaitMs: 1000 }))
  // Nothing here renews a claim: only the test lapses one.
  context = await workerContext(applying.resuming.test, stack, {
    // bound: a pause between two looks
    limits: { fenceMs: 600_000, pulseMs: 100 },
    runtimes: applying.resuming.entries,
  })
})
afterAll(() => stack.disposeAsync())

const by = (now: Date) => ({
  holder: 'worker',
  hosts: [context.host],
  now,
  expiresAt: new Date(now.getTime() + 600_000),
})

/** Lets a worker take up the queued Run of a Session. */
async function begin(session: Session, world = context, signal = new AbortController().signal): Promise<void> {
  const claims = await claimQueued(context.db, by(new Date()), 1000)
  const claim = claims.find(({ sessionId }) => sessionId === session.id)
  if (claim === undefined) throw new Error('no claim')
  await executeRun(world, claim, signal)
}

/** Lets healthy workers take over until the Session is at rest. */
async function takeOver(session: Session): Promise<void> {
  await until('the end of the session’s work', async () => {
    const { rows } = await applying.db.query<{ idle: boolean }>(
      `select not exists (select 1 from runs where session_id = $1 and ended_at is null)
        and not exists (select 1 from executions where session_id = $1 and task is not null) as idle`,
      [session.id],
    )
    if (rows[0]?.idle === true) return true
    await applying.db.query("update executions set expires_at = 'epoch' where session_id = $1 and task is not null", [
      session.id,
    ])
    const later = by(new Date(Date.now() + 60_000))
    const claims = [...(await adoptLapsed(context.db, later, 1)), ...(await claimQueued(context.db, later, 1))]
    await Promise.all(claims.map(claim => executeRun(context, claim, new AbortController().signal)))
    return false
  })
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholders of extensions are written like this.
const placeholder = '${SHELF}'
const count = 'echo once >> count; echo set up'
const inspection = 'cat count; wc -l < count'

describe('a worker that dies', () => {
  const points = [1, 2, 3, 4, 5, 6, 7].flatMap(at =>
    (['dies', 'fails', 'unanswered'] as const).map((mode): [number, CrashMode] => [at, mode]),
  )

  test.each(points)(
    'at step %i of an apply, if it %s, is followed by one that runs nothing twice',
    async (at, mode) => {
      const session = await applying.session(count, inspection)
      const point = new CrashPoint('apply', at, mode)
      await begin(session, point.world(context), point.signal)
      await takeOver(session)
      expect(point.struck).toBe(true)
      const { events, run } = await applying.resuming.ended(session)
      expect(run.status).toBe('completed')
      expect(outputs(events)).toEqual(['once\n1\n'])
      expect(await applying.steps(session)).toEqual(['1 started', '1 succeeded'])
      expect(outputIn(await applying.api.events(session.id))).toBe('set up\n')
    },
  )

  test('in mid-setup leaves setup running, and the next worker tells the rest of its output', async () => {
    const made = await applying.environments.make({ setup: `${count}; ${waitFor('go')}; echo "late $KEY1"` })
    await applying.environments.writeSecret(made.id, 'KEY1', 'a canary in its cage', made.revision)
    const session = await applying.sessionOf(made, `${inspection}; echo "$KEY1"`)
    const point = new CrashPoint('apply', 0, 'dies')
    const first = begin(session, point.world(context), point.signal)
    await applying.wrote(session, 'set up')
    const lease = await applying.lease(session)
    point.die()
    await first
    expect((await applying.api.session(session.id)).phase).toBe('provisioning')
    await new Sweeper(context).round()
    await applying.go(session)
    await takeOver(session)
    const { events } = await applying.resuming.ended(session)
    expect(outputs(events)).toEqual(['once\n1\n[secret]\n'])
    expect(await applying.steps(session)).toEqual(['1 started', '1 succeeded'])
    const written = 'set up\nlate [secret]\n'
    expect(outputIn(await applying.api.events(session.id))).toBe(written)
    expect((await applying.applies(session))[1]).toMatchObject({ leaseId: lease, outputTail: written })
  })

  test('again and again is charged, and the apply ends with the Run', async () => {
    const session = await applying.session(`echo begun; ${waitFor('never')}`, 'true')
    const point = new CrashPoint('apply', 0, 'dies')
    const first = begin(session, point.world(context), point.signal)
    await applying.wrote(session, 'begun')
    point.die()
    await first
    await applying.db.query('update runs set handovers = $2 where session_id = $1', [
      session.id,
      context.limits.maxHandovers,
    ])
    await takeOver(session)
    const ended = await applying.resuming.ended(session)
    expect(outcomeOf(ended)).toBe('crashed engine_unreachable turn_execution_lost 1')
    expect(await applying.steps(session)).toEqual(['1 started', '1 failed apply_failed'])
  })

  // While skills are copied, before the lease is attached, and when the Run has begun.
  test.each([4, 6, 7])('at step %i leaves the next one the servers of extensions', async at => {
    const made = await applying.environments.make()
    const servers = { shelf: { command: 'cat', env: { SHELF: placeholder } } }
    const content = extensionOf({ contributes: { mcpServers: servers } })
    const sha256 = sha256Of(content)
    expect((await uploadTo(applying.api, made.id, sha256, content)).status).toBe(201)
    const document = { name: made.name, variables: { SHELF: 'poetry' }, extensions: [{ archive: `sha256:${sha256}` }] }
    const put = await applying.environments.put(made.id, document, made.revision)
    const session = await applying.sessionOf(put.body.environment, 'servers', 'scripted')
    const point = new CrashPoint('apply', at, 'dies')
    await begin(session, point.world(context), point.signal)
    await takeOver(session)
    expect(point.struck).toBe(true)
    const ended = await applying.resuming.ended(session)
    const env = expect.arrayContaining([{ name: 'SHELF', value: 'poetry' }])
    expect(messagesOf(ended).map(({ text }) => JSON.parse(String(text)))).toEqual([
      [{ name: 'tools.shelf', command: 'cat', args: [], env }],
    ])
    expect(await applying.steps(session)).toEqual(['1 started', '1 succeeded'])
  })

  test('with its host loses the sandbox, and another host sets one up anew', async () => {
    const session = await applying.session(`${count}; ${waitFor('go')}`, inspection)
    const point = new CrashPoint('apply', 0, 'dies')
    const first = begin(session, point.world(context), point.signal)
    await applying.wrote(session, 'set up')
    const lease = await applying.lease(session)
    point.die()
    await first
    await context.driver.destroy(lease)
    const heard = (host: string, ago: string) =>
      applying.db.query(
        `insert into hosts (id, runtimes, seen_at, heard_at, heard_since)
         values ($1, '{}', now(), now() - $2::interval, now() - interval '1 day')
         on conflict (id) do update set heard_at = excluded.heard_at, heard_since = excluded.heard_since`,
        [host, ago],
      )
    await heard('a host that is gone', '1 hour')
    await heard(context.host, '0')
    await applying.db.query("update leases set host = 'a host that is gone' where id = $1", [lease])
    const taken = takeOver(session)
    await until('the second setup', async () => (await applying.steps(session)).length === 3)
    await applying.go(session)
    await taken
    const ended = await applying.resuming.ended(session)
    expect(outcomeOf(ended)).toBe('completed completed - 2')
    expect(outputs(ended.events)).toEqual(['once\n1\n'])
    expect(await applying.steps(session)).toEqual(['1 started', '1 failed workspace_lost', '2 started', '2 succeeded'])
  })

  test('and whose request nobody claims again, leaves an apply that the sweeper ends with the lease', async () => {
    const session = await applying.session(`echo begun; ${waitFor('never')}`)
    await applying.api.put(`/v1/sessions/${session.id}/workspace`, {})
    const [claim] = await claimWorkspaces(context.db, by(new Date()), 1)
    if (claim === undefined) throw new Error('no claim')
    const point = new CrashPoint('apply', 0, 'dies')
    const restoring = executeRestore(point.world(context), claim, point.signal).catch(() => undefined)
    await applying.wrote(session, 'begun')
    const lease = await applying.lease(session)
    point.die()
    await restoring
    await applying.db.query('delete from workspace_requests where session_id = $1', [session.id])
    await applying.db.query('update executions set task = null where session_id = $1', [session.id])
    await new Sweeper(context).round()
    expect(await applying.steps(session)).toEqual(['1 started'])
    await applying.db.query("update leases set expires_at = 'epoch' where id = $1", [lease])
    await new Sweeper(context).round()
    expect(await applying.steps(session)).toEqual(['1 started', '1 failed apply_failed'])
    await until('the sandbox is gone', async () => {
      await new Sweeper(context).round()
      return !(await context.driver.list()).includes(lease)
    })
  })
})
