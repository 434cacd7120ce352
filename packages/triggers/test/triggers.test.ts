import { randomUUID } from 'node:crypto'
import type { Session, Trigger, TriggerDelivery, Turn } from '@berth/contract'
import { provideOwnInstallation } from '@berth/core/accounts/installations/own-installation.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TriggerWorker } from '../src/trigger-worker.ts'

const stack = new AsyncDisposableStack()
let test: TestService
beforeAll(async () => {
  // Nobody begins Runs here.
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
})
afterAll(() => stack.disposeAsync())

const draft = { name: 'Triage', message: 'Look at {{issue.title?}} by {{ user? }}: {{labels?}}{{none?}}' }
type Answer = { trigger: Trigger; triggers: Trigger[]; delivery: TriggerDelivery; deliveries: TriggerDelivery[] }

async function make(more: object = {}, api: Api = test.api): Promise<Trigger> {
  const answer = await api.put<Answer>(`/v1/triggers/${randomUUID()}`, { ...draft, ...more })
  expect(outcome(answer)).toBe('201')
  return answer.body.trigger
}
const deliver = ({ id }: Trigger, key: string, payload: object = {}, api: Api = test.api) =>
  api.put<Answer>(`/v1/triggers/${id}/deliveries/${key}`, { payload })
const deliveries = async ({ id }: Trigger) =>
  (await test.api.get<Answer>(`/v1/triggers/${id}/deliveries`)).body.deliveries
const ended = (trigger: Trigger, key: string) =>
  until('the delivery to end', async () => {
    const found = (await deliveries(trigger)).find(each => each.key === key)
    return found !== undefined && found.status !== 'waiting' && found
  })
/** The Sessions that a trigger has made. */
async function made({ id }: Trigger): Promise<readonly Session[]> {
  const { body } = await test.api.get<{ sessions: Session[] }>(
    `/v1/sessions?limit=100&origin.objectType=trigger&origin.objectId=${id}`,
  )
  return body.sessions
}

/** Lets a worker do one round to its end. */
async function whole(worker: TriggerWorker): Promise<void> {
  await worker.round()
  await worker.settled()
}

describe('a trigger', () => {
  it('gives fields to a script as variables', async () => {
    const message = 'echo "{{issue.title}}"'
    const trigger = await make({ message, thread: ['issue.key'], session: { runtime: 'shell' } })
    const payload = { issue: { key: 'A-7', title: "it's $(rm -rf ~)" } }
    const { sessionId } = (await deliver(trigger, 'k', payload)).body.delivery
    expect(await ended(trigger, 'k')).toMatchObject({ status: 'admitted' })
    const { turns } = (await test.api.get<{ turns: Turn[] }>(`/v1/sessions/${sessionId}/turns`)).body
    const { rows } = await test.db.database.query('select trigger_id from sessions where id = $1', [sessionId])
    expect(rows).toEqual([{ trigger_id: trigger.id }])
    expect(turns[0]?.message).toBe(`field_1='it'\\''s $(rm -rf ~)'\necho "\${field_1}"`)
  })

  it('is written, read, replaced, listed and deleted by its installation alone', async () => {
    const schedule = { cron: '0 7 * * 1-5', timeZone: 'Europe/Berlin' }
    const trigger = await make({ schedule, session: { runtime: 'shell' } })
    expect(trigger).toMatchObject({ ...draft, schedule, session: { runtime: 'shell' }, enabled: true })
    const path = `/v1/triggers/${trigger.id}`
    expect((await test.api.get<Answer>(path)).body.trigger).toEqual(trigger)
    expect((await test.api.get<Answer>('/v1/triggers')).body.triggers).toContainEqual(trigger)
    // A schedule that stays the same keeps its time.
    const renamed = (await test.api.put<Answer>(path, { ...draft, schedule, name: 'Other' })).body.trigger
    expect(renamed).toMatchObject({ name: 'Other', nextAt: trigger.nextAt, session: {} })
    const off = (await test.api.put<Answer>(path, { ...draft, schedule, enabled: false })).body.trigger
    expect(off.nextAt).toBeUndefined()
    expect(outcome(await deliver(trigger, 'k'))).toBe('409 trigger_disabled')

    const stranger = (await test.newTenant()).api
    expect(outcome(await stranger.get(path))).toBe('404 trigger_not_found')
    expect(outcome(await deliver(trigger, 'k', {}, stranger))).toBe('404 trigger_not_found')
    expect(outcome(await stranger.get(`${path}/deliveries`))).toBe('404 trigger_not_found')
    expect((await stranger.get<Answer>('/v1/triggers')).body.triggers).toEqual([])
    expect(outcome(await stranger.call('DELETE', path))).toBe('204')
    expect(outcome(await test.api.get(path))).toBe('200')
    expect(outcome(await test.api.call('DELETE', path))).toBe('204')
    expect(outcome(await test.api.get(path))).toBe('404 trigger_not_found')
  })

  it.each([
    [{ schedule: { cron: 'often' } }, ['schedule', 'cron']],
    [{ schedule: { cron: '0 0 * * *', timeZone: 'Mars/Olympus' } }, ['schedule', 'timeZone']],
    [{ message: '' }, ['message']],
    [{ session: { runtime: 'no-such-runtime' } }, ['session', 'runtime']],
    [{ session: { initialTurn: {} } }, ['session', 'initialTurn']],
    [{ name: 'x'.repeat(161) }, ['name']],
  ])('is refused with %j', async (more, path) => {
    const answer = await test.api.put<{ issues: object[] }>(`/v1/triggers/${randomUUID()}`, { ...draft, ...more })
    expect(outcome(answer)).toBe('400 invalid_request')
    expect(answer.body.issues).toContainEqual(expect.objectContaining({ path }))
  })

  it('is one of a hundred at most, although many are added at once', async () => {
    const { api } = await test.newTenant()
    const answers = await Promise.all(Array.from({ length: 104 }, () => api.put(`/v1/triggers/${randomUUID()}`, draft)))
    const outcomes = answers.map(outcome)
    expect(outcomes.filter(each => each === '201')).toHaveLength(100)
    expect(outcomes.filter(each => each === '409 trigger_limit_reached')).toHaveLength(4)
    const { triggers } = (await api.get<Answer>('/v1/triggers')).body
    expect(outcome(await api.put(`/v1/triggers/${triggers[0]?.id}`, { ...draft, name: 'again' }))).toBe('200')
  })
})

describe('a delivery', () => {
  it('makes one Session of its payload, although ten come at once and again later', async () => {
    const trigger = await make({ session: { title: 'An issue', runtime: 'shell' } })
    const payload = { issue: { title: '{{user}} is broken', constructor: 1 }, user: 'ann', labels: ['bug', 2] }
    const answers = await Promise.all(Array.from({ length: 10 }, () => deliver(trigger, 'issue-7', payload)))
    expect(new Set(answers.map(outcome))).toEqual(new Set(['202']))
    const { status, sessionId } = await ended(trigger, 'issue-7')
    expect(status).toBe('admitted')
    expect((await deliver(trigger, 'issue-7', { other: true })).body.delivery).toMatchObject({ status, sessionId })
    const sessions = await made(trigger)
    expect(sessions).toMatchObject([{ id: sessionId, title: 'An issue', runtime: 'shell' }])
    const { body } = await test.api.get<{ turns: Turn[] }>(`/v1/sessions/${sessionId}/turns`)
    expect(body.turns.map(({ message }) => message)).toEqual([
      `field_1='{{user}} is broken'\nfield_2='ann'\nfield_3='["bug",2]'\nfield_4=''\nLook at \${field_1} by \${field_2}: \${field_3}\${field_4}`,
    ])
    await deliver(trigger, 'issue-8')
    await ended(trigger, 'issue-8')
    expect(await made(trigger)).toHaveLength(2)
  })

  it('makes no second Session if its process dies before it says how it ended', async () => {
    const trigger = await make()
    await deliver(trigger, 'once')
    await ended(trigger, 'once')
    // A process that is killed between the two transactions leaves this; and the trigger is changed then.
    await test.api.put(`/v1/triggers/${trigger.id}`, { ...draft, session: { title: 'Changed' } })
    await test.db.database.query(
      "update trigger_deliveries set status = 'waiting', due_at = created_at where trigger_id = $1",
      [trigger.id],
    )
    expect(await ended(trigger, 'once')).toMatchObject({ status: 'admitted' })
    expect(await made(trigger)).toHaveLength(1)
    // It is forgotten after a while, and its sender repeats it.
    await test.db.database.query('delete from trigger_deliveries where trigger_id = $1', [trigger.id])
    await deliver(trigger, 'once')
    expect(await ended(trigger, 'once')).toMatchObject({ status: 'admitted' })
    expect(await made(trigger)).toHaveLength(1)
  })

  it('is refused with the reason, and bad ones are not taken', async () => {
    const trigger = await make()
    // An agent that was removed from the deployment since.
    await test.db.database.query('update triggers set session = $2 where id = $1', [trigger.id, { runtime: 'removed' }])
    await deliver(trigger, 'k')
    expect(await ended(trigger, 'k')).toMatchObject({
      status: 'refused',
      errorCode: 'invalid_request',
    })
    const empty = await make({ message: '{{nothing?}}' })
    expect(outcome(await deliver(empty, 'k'))).toBe('400 invalid_request')
    const named = await deliver(await make({ message: '{{issue.title}} {{user?}}' }), 'k', { issue: {} })
    expect(named.body).toEqual({
      error: 'invalid_request',
      issues: [{ path: ['payload', 'issue', 'title'], message: expect.stringContaining('is missing') }],
    })
    expect(outcome(await deliver(empty, 'k', { nothing: 'x'.repeat(100_001) }))).toBe('400 invalid_request')
    expect(outcome(await deliver(trigger, 'a%20b'))).toMatch(/^400|^404/)
    expect(await deliveries(empty)).toEqual([])
  })

  it('makes nothing once its installation has been revoked', async () => {
    const { tenant, api } = await test.newTenant()
    const trigger = await make({ schedule: { cron: '* * * * *' } }, api)
    const context = await workerContext(test, stack)
    await test.db.database.query('update installations set revoked_at = now() where id = $1', [tenant.installationId])
    await test.db.database.query('update triggers set due_at = $2 where id = $1', [trigger.id, '2031-01-01T00:00:00Z'])
    await whole(new TriggerWorker({ ...context, clock: { now: () => new Date('2031-01-01T00:00:01Z') } }))
    const { rows } = await test.db.database.query(
      'select status, error_code from trigger_deliveries where trigger_id = $1',
      [trigger.id],
    )
    expect(rows).toEqual([{ status: 'refused', error_code: 'authority_revoked' }])
    // Nobody could end a schedule that went on.
    expect(await test.db.database.query('select due_at from triggers where id = $1', [trigger.id])).toMatchObject({
      rows: [{ due_at: null }],
    })
  })

  it('keeps its message no longer than it waits', async () => {
    const trigger = await make({ message: 'Look at {{it}}' })
    await deliver(trigger, 'k', { it: 'a private matter' })
    await ended(trigger, 'k')
    const { rows } = await test.db.database.query('select message from trigger_deliveries where trigger_id = $1', [
      trigger.id,
    ])
    expect(rows).toEqual([{ message: '' }])
  })

  it.each([
    ['a script, as its trigger was changed to run them', {}, { runtime: 'shell' }],
    ['text, as its trigger ran scripts', { runtime: 'shell' }, {}],
  ])('that waits does not become %s', async (_, before, after) => {
    const trigger = await make({ message: 'echo "{{it}}"', session: before })
    await deliver(trigger, 'first', { it: '$(rm -rf ~)' })
    await ended(trigger, 'first')
    await test.api.put(`/v1/triggers/${trigger.id}`, { ...draft, message: 'echo "{{it}}"', session: after })
    // One that was taken with the first, and has waited until now.
    await test.db.database.query(
      `update trigger_deliveries set key = 'second', status = 'waiting', message = 'echo $(rm -rf ~)', due_at = created_at
       where trigger_id = $1`,
      [trigger.id],
    )
    expect(await ended(trigger, 'second')).toMatchObject({ status: 'refused', errorCode: 'invalid_input' })
    expect(await made(trigger)).toHaveLength(1)
  })

  it('is of no trigger that was deleted meanwhile', async () => {
    const trigger = await make()
    const database = test.db.database
    const deletion = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const deleting = database.transaction(async tx => {
      await tx.query('delete from triggers where id = $1', [trigger.id])
      begun.resolve()
      await deletion.promise
    })
    await begun.promise
    const answer = deliver(trigger, 'k')
    await until('the delivery to wait for the deletion', async () => {
      const { rows } = await database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
           and query like '%insert into trigger_deliveries%'`,
      )
      return rows.length > 0
    })
    deletion.resolve()
    await deleting
    expect(outcome(await answer)).toBe('404 trigger_not_found')
  })

  it('reaches no repository of a connection that asks people for access of their own', async () => {
    const { database } = test.db
    const account = { host: 'local', provider: 'local', account: 'local', accountLogin: 'local' } as const
    const named = { repositoryId: '8001', fullName: 'local/guarded' }
    const { id: grantId } = await grantRepository(database, test.tenant, account, named)
    await database.query(
      `update host_connections set personal = true
       where id = (select connection_id from repository_grants where id = $1)`,
      [grantId],
    )
    const trigger = await make({ session: { source: { grantId, repositoryId: '8001' } } })
    await deliver(trigger, 'k')
    expect(await ended(trigger, 'k')).toMatchObject({
      status: 'refused',
      errorCode: 'cloud_github_connection_required',
    })
  })

  it('of the service’s own installation makes no Session, although its trigger was written before', async () => {
    const { database } = test.db
    const trigger = await make({ schedule: { cron: '0 7 * * *' } })
    const own = await provideOwnInstallation({ db: database, clock: systemClock }, test.tenant.organizationId)
    await database.query(`update triggers set installation_id = $2, due_at = now() where id = $1`, [trigger.id, own.id])
    const refused = await until('the refusal', async () => {
      const text = `select error_code from trigger_deliveries where trigger_id = $1 and status = 'refused'`
      return (await database.query<{ error_code: string }>(text, [trigger.id])).rows[0] ?? false
    })
    expect(refused.error_code).toBe('authority_revoked')
    const { rows } = await database.query('select due_at from triggers where id = $1', [trigger.id])
    expect(rows).toEqual([{ due_at: null }])
  })

  it('is given up after a day, however it fails', async () => {
    const trigger = await make()
    await test.db.database.query(
      `insert into trigger_deliveries (organization_id, trigger_id, key, message, status, tries, created_at, due_at)
       values ($1, $2, 'k', 'x', 'waiting', 150, now(), now())`,
      [test.tenant.organizationId, trigger.id],
    )
    expect(await ended(trigger, 'k')).toMatchObject({ status: 'refused', errorCode: 'internal_error' })
  })

  it('waits for none of another organization, although that one has many', async () => {
    const { tenant, api } = await test.newTenant()
    const busy = await make()
    const quiet = await make({}, api)
    const database = test.db.database
    // They are due in a far year, for this worker alone.
    await database.query(
      `insert into trigger_deliveries (organization_id, trigger_id, key, message, status, created_at, due_at)
       select $1::uuid, $2::uuid, n::text, 'x', 'waiting', '2032-01-01'::timestamptz, '2032-01-01'::timestamptz from generate_series(1, 100) n
       union all select $3::uuid, $4::uuid, 'k', 'x', 'waiting', '2032-01-02'::timestamptz, '2032-01-02'::timestamptz`,
      [test.tenant.organizationId, busy.id, tenant.organizationId, quiet.id],
    )
    const context = await workerContext(test, stack)
    await whole(new TriggerWorker({ ...context, clock: { now: () => new Date('2032-01-03T00:00:00Z') } }))
    const taken = await database.query<{ trigger_id: string; count: number }>(
      `select trigger_id, count(*)::integer as count from trigger_deliveries
       where trigger_id in ($1, $2) and tries > 0 group by 1 order by 2`,
      [busy.id, quiet.id],
    )
    expect(taken.rows).toEqual([
      { trigger_id: quiet.id, count: 1 },
      { trigger_id: busy.id, count: 2 },
    ])
  })
})

describe('a schedule', () => {
  it('fires once, whichever process is first, and makes up for one of those that were missed', async () => {
    const trigger = await make({
      message: 'It is {{occurrence}}',
      schedule: { cron: '0 6 * * *', timeZone: 'Europe/Berlin' },
    })
    // Times in a far year are due for these workers alone.
    await test.db.database.query('update triggers set due_at = $2 where id = $1', [trigger.id, '2030-03-29T05:00:00Z'])
    const context = await workerContext(test, stack)
    let now = new Date('2030-03-29T04:59:59Z')
    const workers = Array.from({ length: 4 }, () => new TriggerWorker({ ...context, clock: { now: () => now } }))
    const rounds = () => Promise.all(workers.map(whole))
    const next = async () => (await test.api.get<Answer>(`/v1/triggers/${trigger.id}`)).body.trigger.nextAt
    await rounds()
    expect(await deliveries(trigger)).toEqual([])
    now = new Date('2030-03-29T05:00:00Z')
    await rounds()
    await rounds()
    expect(await deliveries(trigger)).toMatchObject([{ key: '2030-03-29T05:00:00.000Z', status: 'admitted' }])
    expect(await next()).toBe('2030-03-30T05:00:00.000Z')
    // Four days without a process, over the change to summer time.
    now = new Date('2030-04-02T12:00:00Z')
    await rounds()
    await rounds()
    expect((await deliveries(trigger)).map(({ key }) => key).toSorted()).toEqual([
      '2030-03-29T05:00:00.000Z',
      '2030-03-30T05:00:00.000Z',
    ])
    expect(await next()).toBe('2030-04-03T04:00:00.000Z')
    const sessions = await made(trigger)
    expect(sessions.map(({ title }) => title).toSorted()).toEqual([
      'It is 2030-03-29T05:00:00.000Z',
      'It is 2030-03-30T05:00:00.000Z',
    ])
  })

  it('that cannot be read any more stops alone', async () => {
    const schedule = { cron: '0 6 * * *' }
    const broken = await make({ schedule })
    const sound = await make({ schedule })
    await test.db.database.query(
      `update triggers set due_at = '2033-01-01T06:00:00Z', time_zone = case id when $1 then 'Europe/Atlantis' else 'UTC' end
       where id in ($1, $2)`,
      [broken.id, sound.id],
    )
    const context = await workerContext(test, stack)
    await whole(new TriggerWorker({ ...context, clock: { now: () => new Date('2033-01-01T06:00:01Z') } }))
    for (const trigger of [broken, sound]) expect(await deliveries(trigger)).toHaveLength(1)
    const read = async ({ id }: Trigger) => (await test.api.get<Answer>(`/v1/triggers/${id}`)).body.trigger
    expect((await read(broken)).nextAt).toBeUndefined()
    expect((await read(sound)).nextAt).toBe('2033-01-02T06:00:00.000Z')
    // A clock that was ahead for a while costs no occurrences once the trigger is written again.
    const again = (await test.api.put<Answer>(`/v1/triggers/${sound.id}`, { ...draft, schedule })).body.trigger
    expect(Date.parse(again.nextAt ?? '')).toBeLessThan(Date.parse('2033-01-01T00:00:00Z'))
  })
})
