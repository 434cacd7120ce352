import { randomBytes } from 'node:crypto'
import type { Session } from '@berth/contract'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { Applying, outputs, waitFor } from '@berth/testing/environments/applying.ts'
import { outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { until } from '@berth/testing/until.ts'
import type { WorkerOptions } from '@berth/testing/workspaces/resuming.ts'
import { signalSandbox } from '@berth/testing/workspaces/sandbox-processes.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cacheLimits } from '../../src/checkpoints/limits.ts'

let applying: Applying
beforeAll(async () => {
  applying = await Applying.open()
})
afterAll(() => applying[Symbol.asyncDispose]())

/** Starts a worker for one test. */
async function work(options: WorkerOptions = {}): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  // bound: a pause between two looks
  await applying.resuming.work(stack, { ...options, limits: { pulseMs: 100, ...options.limits } })
  return stack.move()
}

const ended = async (session: Session) => outcomeOf(await applying.resuming.ended(session))
const setupFailed = 'failed error environment_setup_failed 1'
const begun = `echo begun; ${waitFor('go')}`

describe('a setup script', () => {
  test.each([
    ['exits with 1', 'exit 1', '1 failed setup_exit_nonzero', 1],
    ['exits with 255', 'echo why; exit 255', '1 failed setup_exit_nonzero', 255],
    ['kills itself', 'kill -9 $$', '1 failed setup_exit_nonzero', undefined],
    ['is no bash', 'if then', '1 failed setup_exit_nonzero', 2],
    ['kills the program that runs it', 'kill -9 $PPID; sleep 600', '1 failed apply_failed', undefined],
  ])('that %s fails the apply and its Run', async (_, setup, failed, exitCode) => {
    await using _worker = await work()
    const session = await applying.session(setup, 'true')
    expect(await ended(session)).toBe(setupFailed)
    expect(await applying.steps(session)).toEqual(['1 started', failed])
    expect((await applying.applies(session))[1]?.['setupExitCode']).toBe(exitCode)
    expect((await applying.api.session(session.id)).workspace.state).toBe('unavailable')
  })

  test.each([
    ['takes too long', 'trap "" TERM; echo begun; sleep 600'],
    ['suspends the program that counts its time', 'kill -STOP $PPID; sleep 600'],
  ])('that %s is ended', async (_, setup) => {
    // bound: it is to be over
    await using _worker = await work({ limits: { setupMs: 1500 } })
    const session = await applying.session(setup, 'true')
    expect(await ended(session)).toBe(setupFailed)
    expect(await applying.steps(session)).toEqual(['1 started', '1 failed setup_timeout'])
    expect((await applying.applies(session))[1]).not.toHaveProperty('setupExitCode')
  })

  test('that would outlast its sandbox is ended before that', async () => {
    await using _worker = await work({ limits: { leaseMaxMs: 3000, leaseIdleMs: 3000 } })
    const session = await applying.session('sleep 600', 'true')
    expect(await ended(session)).toBe(setupFailed)
    expect(await applying.steps(session)).toEqual(['1 started', '1 failed setup_timeout'])
  })

  test('that was ended is tried again by the next Turn, on another sandbox', async () => {
    await using _worker = await work()
    const environment = await applying.environments.make({ setup: 'exit 3' })
    const session = await applying.sessionOf(environment, 'true')
    expect(await ended(session)).toBe(setupFailed)
    const { name } = environment
    await applying.environments.put(environment.id, { name, setup: 'echo fine' }, environment.revision)
    const { run } = await applying.api.submitTurn(session.id, 'echo second')
    const { events, ...second } = await applying.resuming.ended(session, run.id)
    expect(outcomeOf({ events, ...second })).toBe('completed completed - 1')
    expect(await applying.steps(session)).toEqual([
      '1 started',
      '1 failed setup_exit_nonzero',
      '2 started',
      '2 succeeded',
    ])
  })
})

describe('a cache', () => {
  test('over its bounds is not saved, and the apply succeeds and says with which path', async () => {
    await using _worker = await work({ checkpointLimits: { cache: { ...cacheLimits, files: 4 } } })
    const setup = 'mkdir -p ~/.one deps; touch ~/.one/a deps/b deps/c deps/d; ls deps'
    const session = await applying.session(setup, 'true', { cache: { paths: ['~/.one', 'deps'] } })
    expect(await ended(session)).toBe('completed completed - 1')
    expect((await applying.applies(session))[1]).toMatchObject({
      status: 'succeeded',
      cache: 'skipped_size',
      cacheSkip: { reason: 'size', path: 'deps' },
    })
  })
})

describe('an apply that is under way', () => {
  test('ends with the cancellation of its Run, and nothing of it runs on', async () => {
    await using _worker = await work()
    const session = await applying.session(`trap "" TERM; (while sleep 0.1; do :; done) & ${begun}`, 'true')
    await applying.wrote(session, 'begun')
    expect((await applying.api.session(session.id)).phase).toBe('provisioning')
    await applying.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    expect(await ended(session)).toBe('cancelled aborted - 1')
    expect(await applying.steps(session)).toEqual(['1 started', '1 failed cancelled'])
    expect((await applying.applies(session))[1]).toMatchObject({ outputTail: 'begun\n' })
  })

  test('ends with its Session', async () => {
    await using _worker = await work()
    const session = await applying.session(begun, 'true')
    await applying.wrote(session, 'begun')
    await applying.api.call('DELETE', `/v1/sessions/${session.id}`)
    const log = await until('the end of the run', async () => {
      const { rows } = await applying.db.query<{ type: string; code: string | null }>(
        `select type, envelope::jsonb #>> '{data,errorCode}' as code from events where session_id = $1
         order by sequence desc limit 2`,
        [session.id],
      )
      return rows[0]?.type === 'svc.run.cancelled' && rows
    })
    expect(log[1]).toEqual({ type: 'svc.environment.apply', code: 'session_archived' })
  })

  test.each([
    ['is killed', 'SIGKILL'],
    ['hangs', 'SIGSTOP'],
  ] as const)('begins again on another sandbox if its own %s', async (_, signal) => {
    await using _worker = await work({ limits: { pingMs: 4_000 } })
    const session = await applying.session(begun, 'echo done')
    await applying.wrote(session, 'begun')
    const first = await applying.lease(session)
    await signalSandbox(applying.dataDir, first, signal)
    const second = await until('another lease', async () => {
      const lease = await applying.lease(session).catch(() => first)
      return lease !== first && lease
    })
    await until('the second setup', async () => (await applying.steps(session)).length === 3)
    expect(second).not.toBe(first)
    await until('the file', async () =>
      applying.go(session).then(
        () => true,
        () => false,
      ),
    )
    const { events, ...run } = await applying.resuming.ended(session)
    expect(outcomeOf({ events, ...run })).toBe('completed completed - 2')
    expect(outputs(events)).toEqual(['done\n'])
    expect(await applying.steps(session)).toEqual(['1 started', '1 failed workspace_lost', '2 started', '2 succeeded'])
  })
})

describe('a secret that the master key does not open', () => {
  test('fails the apply, and nothing is run', async () => {
    await using _worker = await work()
    const made = await applying.environments.make({ setup: 'echo run' })
    await applying.environments.writeSecret(made.id, 'TOKEN1', 'some value', made.revision)
    const other = new MasterKey(randomBytes(32))
    await applying.db.query('update environment_secrets set sealed = $2 where environment_id = $1', [
      made.id,
      other.seal('some value', 'elsewhere'),
    ])
    const session = await applying.sessionOf(made, 'true')
    expect(await ended(session)).toBe(setupFailed)
    expect(await applying.steps(session)).toEqual(['1 started', '1 failed secret_unavailable'])
    expect((await applying.applies(session))[1]).not.toHaveProperty('outputTail')
  })
})
