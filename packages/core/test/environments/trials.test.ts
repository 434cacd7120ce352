import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type EnvironmentTrial, environmentLimits } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { clientConfig } from '@berth/platform/storage/postgres/pool.ts'
import { PostgresWakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { outputIn, waitFor } from '@berth/testing/environments/applying.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { Trials } from '@berth/testing/environments/trials.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { leaseDirectory, leaseOf, touch } from '@berth/testing/workspaces/workspace.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { purgeChores } from '../../src/sessions/purge/purge-chore.ts'
import { trialChores } from '../../src/sessions/trials/trial-chores.ts'

const log = pino({ level: 'silent' })
const stack = new AsyncDisposableStack()
let accounts: Accounts
let person: Api
let environments: Environments
let trials: Trials
let wakeups: PostgresWakeups
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { db } = accounts.test
  person = (await accounts.person({})).api
  environments = new Environments(person)
  trials = new Trials(person)
  const connection = clientConfig({ connection: db.connection, log })
  wakeups = stack.use(new PostgresWakeups({ connection, log }))
  await wakeups.start()
})
afterAll(() => stack.disposeAsync())

const db = () => accounts.test.db.database
const keyOf = ({ id }: EnvironmentTrial) => ({ id, organizationId: accounts.test.tenant.organizationId })

/** Waits until nothing of the sandbox of a trial is left: neither its lease nor its files. */
async function givenBack(trial: EnvironmentTrial): Promise<void> {
  const { rows } = await db().query('select 1 from leases where session_id = $1 and ended_at is null', [trial.id])
  expect(rows).toEqual([])
  const lease = await leaseOf(db(), keyOf(trial))
  await until('that the sandbox is gone', () => !existsSync(leaseDirectory(accounts.test.dataDir, lease)))
}

/** Starts a trial whose setup waits until it is stopped, and waits until setup runs. */
async function endless(): Promise<EnvironmentTrial> {
  const { id } = await environments.make({ setup: `echo begun\n${waitFor('never')}` })
  const trial = await trials.begin(id)
  for await (const frame of trials.follow(trial)) {
    if (frame.kind === 'event' && frame.event.type === 'svc.environment.output') break
  }
  return trial
}

describe('a trial of an environment', () => {
  it('applies the newest revision, tells it live, and gives the sandbox back', async () => {
    const { id } = await environments.make({ setup: `echo first\n${waitFor('go')}\necho second` })
    const started = await trials.start(id)
    expect(started.status).toBe(201)
    const { trial } = started.body
    expect(trial).toMatchObject({ environmentId: id, state: 'starting', endedAt: null, result: null })
    const states: string[] = []
    const events = []
    let resumed = 0
    for await (const frame of trials.follow(trial)) {
      if (frame.kind === 'trial') states.push(frame.trial.state)
      else events.push(frame.event)
      if (outputIn(events).includes('first') && resumed === 0) {
        resumed = events.length
        expect((await trials.read(trial)).body.trial.state).toBe('applying')
        await touch(db(), accounts.test.dataDir, keyOf(trial), 'go')
      }
    }
    expect([states.at(0), states.at(-1)]).toEqual(['starting', 'succeeded'])
    expect(outputIn(events)).toBe('first\nsecond\n')
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1))
    const read = (await trials.read(trial)).body.trial
    expect(read).toMatchObject({ state: 'succeeded', revision: 1, result: { status: 'succeeded', setupExitCode: 0 } })
    expect(read.endedAt).not.toBeNull()
    await givenBack(trial)
    // A reader that lost its connection goes on where it was.
    const rest: number[] = []
    for await (const frame of trials.follow(trial, resumed)) {
      if (frame.kind === 'event') rest.push(frame.event.sequence)
    }
    expect(rest).toEqual(events.slice(resumed).map(({ sequence }) => sequence))
  })

  it('fails as the apply fails, and says why', async () => {
    const { id } = await environments.make({ setup: 'echo nothing to build; exit 3' })
    const { trial } = await trials.ended(await trials.begin(id))
    expect(trial).toMatchObject({
      state: 'failed',
      result: { errorCode: 'setup_exit_nonzero', setupExitCode: 3, outputTail: 'nothing to build\n' },
    })
    await givenBack(trial)
  })

  it('needs nobody who follows it to give the sandbox back', async () => {
    const { id } = await environments.make({ setup: 'true' })
    const trial = await trials.begin(id)
    await until('the end of the trial', async () => {
      const { rows } = await db().query('select 1 from environment_trials where session_id = $1 and outcome = $2', [
        trial.id,
        'succeeded',
      ])
      return rows.length > 0
    })
    await givenBack(trial)
  })

  it('is stopped by whoever asks, once', async () => {
    const trial = await endless()
    const stopped = await trials.stop(trial)
    expect([stopped.status, stopped.body.trial.state, stopped.body.trial.stopReason]).toEqual([200, 'stopped', 'asked'])
    await givenBack(trial)
    expect((await trials.stop(trial)).body).toEqual(stopped.body)
    const { events } = await trials.ended(trial)
    expect(events.at(-1)?.data).toMatchObject({ status: 'failed', errorCode: 'session_archived' })
  })

  it.each([
    ['unwatched', 'watched_until'],
    ['overdue', 'expires_at'],
  ])('is stopped by the chore: %s', async (reason, column) => {
    const [left, watched] = [await endless(), await endless()]
    await db().query(`update environment_trials set ${column} = 'epoch' where session_id = $1`, [left.id])
    const [chore] = trialChores({ db: db(), clock: systemClock, wakeups, log })
    await chore?.work(AbortSignal.timeout(60_000))
    expect((await trials.read(left)).body.trial).toMatchObject({ state: 'stopped', stopReason: reason })
    await givenBack(left)
    expect((await trials.read(watched)).body.trial.state).toBe('applying')
    await trials.stop(watched)
  })

  it('counts as followed by a read and by a stream', async () => {
    const trial = await endless()
    const forget = () =>
      db().query("update environment_trials set watched_until = 'epoch' where session_id = $1", [trial.id])
    const isWatched = async () => {
      const { rows } = await db().query(
        'select 1 from environment_trials where session_id = $1 and watched_until > now()',
        [trial.id],
      )
      return rows.length > 0
    }
    await forget()
    await trials.read(trial)
    expect(await isWatched()).toBe(true)
    await forget()
    for await (const _ of trials.follow(trial)) {
      expect(await isWatched()).toBe(true)
      break
    }
    await trials.stop(trial)
  })

  it('has as many in an organization as there is room for', async () => {
    const { id } = await environments.make({ setup: waitFor('never') })
    const answers = await Promise.all(Array.from({ length: environmentLimits.trials + 3 }, () => trials.start(id)))
    expect(answers.map(outcome).sort()).toEqual([
      ...Array(environmentLimits.trials).fill('201'),
      ...Array(3).fill('409 quota_exceeded'),
    ])
    const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.trial)
    await Promise.all(made.map(trial => trials.stop(trial)))
    await trials.stop(await trials.begin(id))
  })
})

describe('the session of a trial', () => {
  it('is in no list and at no path of sessions, asks no model, and is audited', async () => {
    const { id } = await environments.make({ setup: 'true' })
    const { trial } = await trials.ended(await trials.begin(id))
    const session = `/v1/sessions/${trial.id}`
    const hidden = [
      person.get(session),
      person.get(`${session}/events`),
      person.get(`${session}/events/stream`),
      person.put(`${session}/turns/${randomUUID()}`, { message: 'hello' }),
      person.put(`${session}/workspace`, {}),
      person.put(session, {}),
      person.call('DELETE', session),
      person.get(`/cloud/sessions/${trial.id}/overview`),
      person.get(`/cloud/live?session=${trial.id}:0`),
    ]
    expect((await Promise.all(hidden)).map(outcome)).toEqual(hidden.map(() => '404 cloud_session_not_found'))
    for (const list of [
      '/v1/sessions?archived=true',
      '/cloud/sessions?archived=true',
      '/cloud/sessions?archived=only',
    ]) {
      expect((await person.get(list)).text).not.toContain(trial.id)
    }
    const { rows } = await db().query(
      `select (select count(*)::int from runs where session_id = $1) as runs,
        (select count(*)::int from gateway_requests where session_id = $1) as requests,
        (select array_agg(target) from audit_log where action = 'environment.tried' and details ->> 'trialId' = $1::text)
          as audited`,
      [trial.id],
    )
    expect(rows).toEqual([{ runs: 0, requests: 0, audited: [`environment/${id}`] }])
  })
})

/** Nothing is sealed here. */
const noBlobs = {} as Blobs

describe('a trial that ended a day ago', () => {
  it('is deleted with its log, and no other', async () => {
    const { id } = await environments.make({ setup: 'true' })
    const [old, kept] = [await trials.begin(id), await trials.begin(id)]
    for (const trial of [old, kept]) {
      await trials.ended(trial)
      await givenBack(trial)
    }
    const then = new Date(Date.now() - 26 * 60 * 60_000)
    await db().query('update sessions set archived_at = $2 where id = $1', [old.id, then])
    await db().query('update environment_trials set ended_at = $2 where session_id = $1', [old.id, then])
    const [chore] = purgeChores(
      { db: db(), blobs: noBlobs, clock: systemClock, log },
      { archivedMs: null, logMs: null },
    )
    await chore?.work(AbortSignal.timeout(60_000))
    expect(outcome(await trials.read(old))).toBe('404 environment_trial_not_found')
    expect((await trials.read(kept)).body.trial.state).toBe('succeeded')
  })
})

describe('whoever may not', () => {
  it('try the environment of another organization, nor an archived one', async () => {
    const { id } = await environments.make({ setup: 'true' })
    const { tenant } = await accounts.test.newTenant()
    const stranger = new Trials((await accounts.person({ organizationId: tenant.organizationId })).api)
    const trial = await trials.begin(id)
    const answers = [stranger.start(id), stranger.read(trial), stranger.stop(trial)]
    expect((await Promise.all(answers)).map(outcome)).toEqual([
      '404 environment_not_found',
      '404 environment_trial_not_found',
      '404 environment_trial_not_found',
    ])
    const other = await environments.make({})
    expect(outcome(await trials.read({ ...trial, environmentId: other.id }))).toBe('404 environment_trial_not_found')
    await environments.archive(other.id, 1)
    expect(outcome(await trials.start(other.id))).toBe('409 environment_conflict')
    expect(outcome(await trials.start(randomUUID()))).toBe('404 environment_not_found')
    await trials.ended(trial)
  })

  it('read what another integration of the organization tries, which its people may', async () => {
    const { id } = await environments.make({ setup: 'true' })
    const { test } = accounts
    const own = new Trials(test.api)
    const { trial } = await own.ended(await own.begin(id))
    expect(trial).toMatchObject({ state: 'succeeded', startedBy: { kind: 'app_installation' } })
    expect((await trials.read(trial)).body.trial.state).toBe('succeeded')
    const { organizationId, appSlug } = test.tenant
    const made = await createInstallation(db(), organizationId, appSlug, ['svc.cloud.access', 'environments:manage'])
    const sibling = new Trials(new Api(test.url, made.apiKey))
    expect(outcome(await sibling.read(trial))).toBe('404 environment_trial_not_found')
  })
})
