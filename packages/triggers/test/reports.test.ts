import type { TriggerDelivery } from '@berth/contract'
import { commitTo, tipOf } from '@berth/testing/git/repositories.ts'
import { GitHubTriggers, type Hooked } from '@berth/testing/triggers/github-triggers.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { derivedId } from '../src/derived-id.ts'
import { ReportWorker } from '../src/reports/report-worker.ts'

const stack = new AsyncDisposableStack()
let at: GitHubTriggers
let context: Awaited<ReturnType<GitHubTriggers['processContext']>>
beforeAll(async () => {
  at = await GitHubTriggers.start(stack)
  context = await at.processContext()
})
afterAll(() => stack.disposeAsync())

const commentsOf = (id: number) => at.server.talk.comments.filter(({ repository }) => repository === id)
const checksOf = (id: number) => at.server.talk.checkRuns.filter(({ repository }) => repository === id)
const reportOf = async (trigger: Hooked, { key }: TriggerDelivery) =>
  (await at.deliveries(trigger)).find(each => each.key === key)?.report
const reported = (trigger: Hooked, delivery: TriggerDelivery, state: string) =>
  until(`the report to have told ${state}`, async () => {
    const report = await reportOf(trigger, delivery)
    return report?.told === state && report
  })

/** Puts the report of a delivery off until a far year, so that only a worker of that year tells it. */
async function inYear(year: number, { id }: Hooked): Promise<void> {
  const moved = await at.test.db.database.query('update trigger_reports set due_at = $2 where trigger_id = $1', [
    id,
    `${year}-01-01T00:00:00Z`,
  ])
  expect(moved.rowCount).toBe(1)
}
const clockAt = (time: string) => ({ now: () => new Date(time) })
/** Tells everything that is due at a time, in a process of its own. */
async function reportAll(of: typeof context): Promise<void> {
  const worker = new ReportWorker(of)
  await worker.round()
  await worker.settled()
}
const reportAt = (time: string) => reportAll({ ...context, clock: clockAt(time) })
const requests = (id: number) => at.server.requests.filter(line => line.includes(`/repositories/${id}/`)).length

/** Returns the world of a worker that is killed after its nth step: a call of the host, or a record of what it told. */
function dyingAt(nth: number, death: AbortController, clock: typeof context.clock): typeof context {
  let steps = 0
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    death.signal.throwIfAborted()
    const done = await work()
    if (++steps === nth) death.abort(new Error('the worker is dead'))
    death.signal.throwIfAborted()
    return done
  }
  const dying = <T extends object>(real: T, isStep: (name: PropertyKey, given: readonly unknown[]) => boolean): T =>
    new Proxy(real, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...given: unknown[]) => {
          const call = () => Reflect.apply(member, target, given)
          return isStep(name, given) ? step(call) : call()
        }
      },
    })
  const find = (id: string) => {
    const host = context.gitHosts.find(id)
    if (host?.talk === undefined) return host
    return { id: host.id, kind: host.kind, talk: dying(host.talk, () => true) }
  }
  const isRecord = (_: PropertyKey, [requested]: readonly unknown[]) =>
    (requested as { text?: string }).text?.includes('update trigger_reports set') === true
  return { ...context, clock, gitHosts: { find } as never, db: dying(context.db, isRecord) }
}

describe('the end of a Run that an event started', () => {
  it('is told by a check of the pull request and one comment, which names what is published later', async () => {
    const site = await at.repository()
    const headOid = await commitTo(site.gitDir, 'feature', await tipOf(site.gitDir, 'main'), { new: 'new\n' })
    const number = site.addPull('feature')
    const trigger = await at.make()
    const delivery = await at.fire(trigger, site.events.onPull('@berth mend it', number))
    const { sessionId } = delivery
    const session = await at.test.api.session(sessionId)
    const url = expect.stringMatching(/^https:\/\/github\.example\/comments\/\d+$/)
    expect(await reported(trigger, delivery, 'begun')).toEqual({ told: 'begun', commentUrl: url })
    const begun = { head_sha: headOid, name: 'Berth', status: 'in_progress', details_url: session.sessionUrl }
    expect(checksOf(site.id)).toMatchObject([begun])
    const texts = () => commentsOf(site.id).map(({ body }) => body.split('\n').slice(1))
    expect(texts()).toEqual([['**Berth is at work**', '', `[Session](${session.sessionUrl})`]])

    await at.endRun(sessionId, { summary: 'It was off by one.' })
    const report = await reported(trigger, delivery, 'ended')
    const ended = { ...begun, status: 'completed', conclusion: 'success' }
    expect(checksOf(site.id)).toMatchObject([{ ...ended, output: { title: 'Berth has finished' } }])
    const [comment] = commentsOf(site.id)
    expect(report.commentUrl).toBe(`https://github.example/comments/${comment?.id}`)
    expect(comment?.issue).toBe(number)
    const [marker, ...lines] = comment?.body.split('\n') ?? []
    expect(marker).toMatch(/^<!-- berth:report [0-9a-f-]{36} -->$/)
    expect(lines).toEqual(['**Berth has finished**', '', 'It was off by one.', '', `[Session](${session.sessionUrl})`])

    await at.published(session, 31)
    await reportAt(new Date().toISOString())
    await until('the comment to name the pull request', () => comment?.body.includes('[Pull request #31]('))
    expect(commentsOf(site.id)).toHaveLength(1)
    expect(checksOf(site.id)).toMatchObject([ended])
    // The next comment on what it published belongs to the same Session, and gets an answer of its own.
    const again = await at.post(trigger, site.events.onPull('@berth more', 31))
    expect(again.body.delivery?.sessionId).toBe(sessionId)
  })

  it('is awaited with what goes on meanwhile in the same comment: a question, and its work after the answer', async () => {
    const site = await at.repository()
    const trigger = await at.make()
    const delivery = await at.fire(trigger, site.events.comment('@berth why?'))
    await reported(trigger, delivery, 'begun')
    const set = (status: string) =>
      at.test.db.database.query('update runs set status = $2 where session_id = $1', [delivery.sessionId, status])
    for (const [status, told, title] of [
      ['awaiting', 'asking', '**Berth has a question**'],
      ['running', 'begun', '**Berth is at work**'],
    ] as const) {
      await set(status)
      await reported(trigger, delivery, told)
      expect(commentsOf(site.id).map(({ body }) => body.split('\n')[1])).toEqual([title])
    }
    await at.endRun(delivery.sessionId)
    await reported(trigger, delivery, 'ended')
    expect(commentsOf(site.id)).toHaveLength(1)
  })

  it.each([
    [{ status: 'failed', errorCode: 'gateway_budget' }, 'failure', '**Berth has failed: `gateway_budget`**'],
    [{ status: 'cancelled' }, 'cancelled', '**Berth was stopped**'],
  ])('is told as %j', async (end, conclusion, title) => {
    const site = await at.repository()
    await commitTo(site.gitDir, 'feature', await tipOf(site.gitDir, 'main'), { new: 'new\n' })
    const trigger = await at.make()
    const oid = await tipOf(site.gitDir, 'feature')
    const delivery = await at.fire(trigger, site.events.check({ branch: 'feature', oid }, { pull: 7 }))
    await at.endRun(delivery.sessionId, end)
    await reported(trigger, delivery, 'ended')
    expect(checksOf(site.id)).toMatchObject([{ head_sha: oid, status: 'completed', conclusion }])
    expect(commentsOf(site.id).map(({ body }) => body.split('\n')[1])).toEqual([title])
  })

  it('is told once, although four processes tell it at once and the host loses its answer', async () => {
    const site = await at.repository()
    const trigger = await at.make()
    const path = new RegExp(`^POST /repositories/${site.id}/issues/7/comments`)
    at.server.fail({ when: path, answer: 'half', times: 1 })
    const delivery = await at.fire(trigger, site.events.comment('@berth why?'))
    await until('the answer to be lost', async () => {
      const statement = 'select from trigger_reports where trigger_id = $1 and failures = 1 and claim is null'
      return (await at.test.db.database.query(statement, [trigger.id])).rows.length > 0
    })
    await inYear(2031, trigger)
    expect(await reportOf(trigger, delivery)).toEqual({ told: 'nothing' })
    // Anybody can write the marker, but not as the App.
    const marker = `<!-- berth:report ${derivedId('report', trigger.id, delivery.key)} -->`
    const other = at.server.talk.comment(site.id, 7, marker)
    await at.endRun(delivery.sessionId, { summary: 'Because.' })
    await Promise.all(Array.from({ length: 4 }, () => reportAt('2031-01-01T00:00:01Z')))
    expect((await reportOf(trigger, delivery))?.told).toBe('ended')
    expect(commentsOf(site.id)).toHaveLength(2)
    expect(other.body).toBe(marker)
  })

  it('is told once, although the worker is killed after each of its requests', async () => {
    const site = await at.repository()
    await commitTo(site.gitDir, 'feature', await tipOf(site.gitDir, 'main'), { new: 'new\n' })
    const trigger = await at.make()
    const delivery = await at.fire(trigger, site.events.onPull('@berth mend it', site.addPull('feature')))
    await reported(trigger, delivery, 'begun')
    await inYear(2032, trigger)
    // As if check and comment had been made by one that died before it could say so.
    await at.test.db.database.query(
      'update trigger_reports set check_id = null, comment_id = null where trigger_id = $1',
      [trigger.id],
    )
    await at.endRun(delivery.sessionId, { summary: 'Mended.' })
    let tries = 0
    for (let died = true; died; tries++) {
      const death = new AbortController()
      const world = dyingAt(tries + 1, death, clockAt(new Date(Date.UTC(2032, 0, 1, 0, 2 * tries)).toISOString()))
      await reportAll(world)
      died = death.signal.aborted
    }
    // It looks for the check, ends it, looks for the comment, edits it, and records both; the last one lives.
    expect(tries).toBe(6)
    expect(await reportOf(trigger, delivery)).toMatchObject({ told: 'ended', commentUrl: expect.any(String) })
    expect(commentsOf(site.id)).toHaveLength(1)
    expect(checksOf(site.id)).toMatchObject([{ status: 'completed', conclusion: 'success' }])
  })

  it('waits as long as the host asks', async () => {
    const site = await at.repository()
    const trigger = await at.make()
    const delivery = await at.fire(trigger, site.events.comment('@berth why?'))
    await reported(trigger, delivery, 'begun')
    await inYear(2033, trigger)
    const path = new RegExp(`^PATCH /repositories/${site.id}/issues`)
    at.server.fail({ when: path, answer: { status: 403, headers: { 'retry-after': '1800' } }, times: 1 })
    await at.endRun(delivery.sessionId)
    await reportAt('2033-01-01T00:00:01Z')
    const requested = requests(site.id)
    await reportAt('2033-01-01T00:30:00Z')
    expect(requests(site.id)).toBe(requested)
    await reportAt('2033-01-01T00:30:01Z')
    expect(commentsOf(site.id).map(({ body }) => body.split('\n')[1])).toEqual(['**Berth has finished**'])
  })

  it('is not told for ever where a permission is lost, and the delivery says so', async () => {
    const site = await at.repository()
    const trigger = await at.make()
    const delivery = await at.fire(trigger, site.events.comment('@berth why?'))
    await reported(trigger, delivery, 'begun')
    await inYear(2034, trigger)
    at.server.fail({ when: new RegExp(`^PATCH /repositories/${site.id}/issues`), answer: { status: 403 } })
    await at.endRun(delivery.sessionId)
    await reportAt('2034-01-01T00:00:01Z')
    expect(await reportOf(trigger, delivery)).toEqual({
      told: 'ended',
      commentUrl: expect.any(String),
      commentErrorCode: 'cloud_repository_permission_denied',
    })
    const requested = requests(site.id)
    await reportAt('2034-02-01T00:00:00Z')
    expect(requests(site.id)).toBe(requested)
    at.server.mend()
  })

  it('delays no other, although its host does not answer', async () => {
    const [slow, quick] = [await at.repository(), await at.repository()]
    const ended = async (site: typeof slow) => {
      const trigger = await at.make()
      const delivery = await at.fire(trigger, site.events.comment('@berth why?'))
      await reported(trigger, delivery, 'begun')
      await inYear(2036, trigger)
      await at.endRun(delivery.sessionId)
      return { trigger, delivery }
    }
    const held = await ended(slow)
    const other = await ended(quick)
    const host = Promise.withResolvers<void>()
    const find = (id: string) => {
      const real = context.gitHosts.find(id)
      if (real?.talk === undefined) return real
      const { talk } = real
      const editComment: typeof talk.editComment = async (repository, ...requested) => {
        if (repository.repositoryId === String(slow.id)) await host.promise
        return talk.editComment(repository, ...requested)
      }
      return { id: real.id, kind: real.kind, talk: { ...talk, editComment } }
    }
    const worker = new ReportWorker({ ...context, clock: clockAt('2036-01-01T00:00:01Z'), gitHosts: { find } as never })
    await worker.round()
    await until('the other to be told', async () => (await reportOf(other.trigger, other.delivery))?.told === 'ended')
    expect(commentsOf(slow.id).map(({ body }) => body.split('\n')[1])).toEqual(['**Berth is at work**'])
    host.resolve()
    await worker.settled()
    expect((await reportOf(held.trigger, held.delivery))?.told).toBe('ended')
  })

  it('makes no new comment where somebody has deleted it', async () => {
    const site = await at.repository()
    const trigger = await at.make()
    const delivery = await at.fire(trigger, site.events.comment('@berth why?'))
    await reported(trigger, delivery, 'begun')
    await inYear(2035, trigger)
    await at.endRun(delivery.sessionId)
    await reportAt('2035-01-01T00:00:01Z')
    const { comments } = at.server.talk
    const index = comments.findIndex(({ repository }) => repository === site.id)
    comments.splice(index, 1)
    await at.published(await at.test.api.session(delivery.sessionId), 32)
    await reportAt('2035-01-01T00:01:00Z')
    expect(await reportOf(trigger, delivery)).toMatchObject({ commentErrorCode: 'cloud_repository_unavailable' })
    expect(commentsOf(site.id)).toEqual([])
  })
})
