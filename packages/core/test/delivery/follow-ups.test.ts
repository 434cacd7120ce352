import { randomUUID } from 'node:crypto'
import { capabilities, type FollowUp, type PullRequestPage } from '@berth/contract'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { type PlayedSession, playSession } from '@berth/testing/following/played-session.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let count = 0
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
})
afterAll(() => test[Symbol.asyncDispose]())

const play = (): Promise<PlayedSession> => playSession(test.db.database, test.tenant, ++count, new Date())
const pathOf = ({ sessionId, publicationId }: PlayedSession) =>
  `/v1/sessions/${sessionId}/publications/${publicationId}/follow-up`
const put = (at: PlayedSession, body: object = {}) => test.api.put<{ followUp: FollowUp }>(pathOf(at), body)
const setState = ({ sessionId }: PlayedSession, set: string) =>
  test.db.database.query(`update follow_ups set ${set} where session_id = $1`, [sessionId])
const typesOf = async ({ sessionId }: PlayedSession) => {
  const log = await test.api.events(sessionId)
  return log.flatMap(({ type }) => (type.startsWith('svc.followup.') ? [type.replace('svc.followup.', '')] : []))
}

describe('a follow-up', () => {
  it('begins with its defaults, is read, gets other bounds, and is stopped once', async () => {
    const at = await play()
    const missing = await test.api.get(pathOf(at))
    expect([missing.status, missing.body.error]).toEqual([404, 'cloud_follow_up_not_found'])
    const begun = await put(at)
    const { sessionId, publicationId, number, head } = at
    expect([begun.status, begun.body.followUp]).toMatchObject([
      200,
      {
        ...{ sessionId, publicationId, pullRequest: { number }, state: 'watching', attempts: 0, maxAttempts: 5 },
        ...{ budgetUsd: null, merge: 'never', on: ['checks', 'reviews', 'conflicts', 'base'], headSha: head },
      },
    ])
    const days = Date.parse(begun.body.followUp.until) - Date.parse(begun.body.followUp.startedAt)
    expect(days).toBe(7 * 86_400_000)
    const other = await put(at, { maxAttempts: 2, budgetUsd: 0.5, on: ['checks'], merge: 'when_ready' })
    expect(other.body.followUp).toMatchObject({ maxAttempts: 2, budgetUsd: 0.5, on: ['checks'], merge: 'when_ready' })
    expect((await test.api.get<{ followUp: FollowUp }>(pathOf(at))).body).toEqual(other.body)
    const stopped = await test.api.call<{ followUp: FollowUp }>('DELETE', pathOf(at))
    expect(stopped.body.followUp).toMatchObject({ state: 'stopped', reason: 'person_asked' })
    expect((await test.api.call('DELETE', pathOf(at))).body).toEqual(stopped.body)
    expect(await typesOf(at)).toEqual(['started', 'ended'])
    const { rows } = await test.db.database.query<{ action: string }>(
      'select action from audit_log where target = $1 order by at',
      [`session/${sessionId}`],
    )
    expect(rows.map(({ action }) => action)).toEqual(['follow_up.started', 'follow_up.started', 'follow_up.stopped'])
  })

  it('begins again, with nothing used, after it needed a person', async () => {
    const at = await play()
    await put(at)
    await setState(at, `state = 'needs_person', reason = 'attempts_used', attempts = 5, noted_at = now()`)
    const { followUp } = (await put(at, { maxAttempts: 3 })).body
    expect(followUp).toMatchObject({ state: 'watching', attempts: 0, maxAttempts: 3 })
    expect(followUp).not.toHaveProperty('reason')
    expect(await typesOf(at)).toEqual(['started', 'started'])
  })

  it.each(['merged', 'closed'])('is over once the pull request is %s', async state => {
    const at = await play()
    await put(at)
    await setState(at, `state = '${state}', ended_at = now()`)
    const again = await put(at)
    expect([again.status, again.body]).toMatchObject([409, { error: 'cloud_follow_up_ended' }])
    const left = await test.api.call<{ followUp: FollowUp }>('DELETE', pathOf(at))
    expect([left.status, left.body.followUp.state]).toEqual([200, state])
  })

  it('ends with its Session', async () => {
    const at = await play()
    await put(at)
    await test.api.call('DELETE', `/v1/sessions/${at.sessionId}`)
    const { rows } = await test.db.database.query('select state, reason from follow_ups where session_id = $1', [
      at.sessionId,
    ])
    expect(rows).toEqual([{ state: 'stopped', reason: 'session_ended' }])
    expect((await put(at)).status).toBe(404)
  })

  it('merges only for those who may merge', async () => {
    const held = capabilities.filter(capability => capability !== 'svc.cloud.merges:create')
    const { organizationId, appSlug } = test.tenant
    const { apiKey, installationId } = await createInstallation(test.db.database, organizationId, appSlug, held)
    const at = await playSession(test.db.database, { ...test.tenant, installationId }, ++count, new Date())
    const api = new Api(test.url, apiKey)
    const refused = await api.put(pathOf(at), { merge: 'when_ready' })
    expect([refused.status, refused.body]).toMatchObject([403, { requiredScope: 'svc.cloud.merges:create' }])
    expect((await api.put(pathOf(at), {})).status).toBe(200)
  })

  it('is asked for only with a pull request', async () => {
    const at = await play()
    const body = { revision: 'a'.repeat(64), title: 't', delivery: 'direct_branch', followUp: {} }
    const refused = await test.api.put(`/v1/sessions/${at.sessionId}/publications/${randomUUID()}`, body)
    expect([refused.status, refused.body]).toMatchObject([400, { issues: [{ path: ['followUp'] }] }])
  })

  it.each([{ maxAttempts: 21 }, { days: 31 }, { on: [] }, { on: ['pushed'] }, { budgetUsd: 0 }, { merge: 'now' }])(
    'takes no bounds beyond the contract: %j',
    async body => {
      expect((await put(await play(), body)).status).toBe(400)
    },
  )
})

describe('the list of pull requests', () => {
  it('has each pull request once, the newest first, with whose turn it is, by pages', async () => {
    const { tenant, api } = await test.newTenant()
    const played: PlayedSession[] = []
    for (let number = 1; number <= 3; number++) {
      played.push(await playSession(test.db.database, tenant, number, new Date(Date.now() - 60_000 * (4 - number))))
    }
    const [oldest, middle] = played
    if (oldest === undefined || middle === undefined) throw new Error('nothing was played')
    await api.put(pathOf(oldest), {})
    await api.put(pathOf(middle), {})
    await setState(middle, `state = 'merged', pull_state = 'merged', ended_at = now()`)
    const list = async (query = '') => (await api.get<PullRequestPage>(`/v1/pull-requests${query}`)).body
    const shown = ({ pullRequests }: PullRequestPage) =>
      pullRequests.map(({ number, state, turn, followUp }) => [number, state, turn, followUp?.state ?? null])
    expect(shown(await list())).toEqual([
      [3, 'unknown', 'person', null],
      [2, 'merged', 'nobody', 'merged'],
      [1, 'open', 'host', 'watching'],
    ])
    const first = await list('?limit=2')
    expect([first.pullRequests.length, first.hasMore]).toEqual([2, true])
    expect(shown(await list(`?limit=2&cursor=${first.nextCursor}`))).toEqual([[1, 'open', 'host', 'watching']])
    expect(shown(await list('?state=merged'))).toEqual([[2, 'merged', 'nobody', 'merged']])
    expect(shown(await list('?mine=true'))).toHaveLength(3)
  })

  it('shows none of another installation', async () => {
    const at = await play()
    const { organizationId, appSlug } = test.tenant
    const { apiKey } = await createInstallation(test.db.database, organizationId, appSlug)
    const { pullRequests } = (await new Api(test.url, apiKey).get<PullRequestPage>('/v1/pull-requests')).body
    expect(pullRequests.filter(({ sessionId }) => sessionId === at.sessionId)).toEqual([])
  })
})
