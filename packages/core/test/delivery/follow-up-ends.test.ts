import { Environments } from '@berth/testing/environments/environments.ts'
import { FollowedSession } from '@berth/testing/following/followed-session.ts'
import { commitTo, fileAt, tipOf } from '@berth/testing/git/repositories.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { setFollowSettings } from '../../src/accounts/organizations/follow-settings.ts'

let test: TestService
beforeAll(async () => {
  test = await startTestService()
})
afterAll(() => test[Symbol.asyncDispose]())

const usual = { label: null, assignee: null, baseCommits: null }
const choose = (settings: object) =>
  setFollowSettings(test.db.database, test.tenant.organizationId, { ...usual, ...settings })
afterEach(() => choose({}))

const lines = (...changed: readonly string[]) =>
  Array.from({ length: 20 }, (_, index) => `${changed[index] ?? `line ${index}`}\n`).join('')
const rests = ({ state }: { state: string }) => state === 'needs_person'

describe('a follow-up', () => {
  it('needs a person if the checks of the environment fail on its work, and pushes nothing', async () => {
    const checks = [{ name: 'no tabs', run: '! grep -q spoilt made.txt' }]
    const { id } = await new Environments(test.api).make({ checks, requireVerified: true })
    const agent = `echo "\${FOLLOW_UP_CAUSE:+spoilt}" > made.txt`
    const at = await FollowedSession.begin(test, { name: 'sample/unverified', agent, environment: { id } })
    await at.report(at.head, 'failure')
    const { reason, history } = await at.when('the end', rests)
    expect([reason, history]).toMatchObject(['publication_failed', [{ cause: 'checks' }]])
    expect(history[0]).not.toHaveProperty('publicationId')
    expect(await tipOf(at.gitDir, at.branch)).toBe(at.head)
    const [comment = '', ...others] = await until('the comment', async () => {
      const written = await at.comments()
      return written.length > 0 && written
    })
    expect(comment).toContain('its work could not be published.')
    expect(comment).toContain('1. failed checks: nothing was published')
    expect(others).toEqual([])
  })

  it('pushes no marks of a conflict that its agent left in the files', async () => {
    const files = { file: lines() }
    const agent = `[ -n "\${FOLLOW_UP_CAUSE:-}" ] || sed -i '1s/.*/mine/' file`
    const at = await FollowedSession.begin(test, { name: 'sample/marked', agent, files })
    await commitTo(at.gitDir, 'main', at.at.baseOid, { file: lines('theirs') })
    await at.wake()
    const { reason, history } = await at.when('the end', rests)
    expect([reason, history]).toMatchObject(['publication_failed', [{ cause: 'conflicts' }]])
    expect(await tipOf(at.gitDir, at.branch)).toBe(at.head)
    const { publications } = (await at.at.api.get<{ publications: object[] }>(at.at.path('/publications'))).body
    expect(publications[0]).toMatchObject({ status: 'failed', lastError: { code: 'conflict_markers' } })
  })

  it('brings a base in that is ahead by more than the organization lets it', async () => {
    const agent = `[ -n "\${FOLLOW_UP_CAUSE:-}" ] || echo mine > mine`
    const at = await FollowedSession.begin(test, { name: 'sample/behind', agent })
    await choose({ baseCommits: 2 })
    const one = await commitTo(at.gitDir, 'main', at.at.baseOid, { one: '1\n' })
    const two = await commitTo(at.gitDir, 'main', one, { two: '2\n' })
    await at.report(at.head, 'pending')
    // Two commits are within the bound.
    await at.rested()
    expect(await at.read()).toMatchObject({ state: 'watching', attempts: 0 })
    await commitTo(at.gitDir, 'main', two, { three: '3\n' })
    await at.wake()
    const { history, headSha } = await at.when('the base', it => it.attempts === 1 && it.state === 'watching')
    expect(history).toMatchObject([{ cause: 'base', publicationId: expect.any(String) }])
    expect(headSha).not.toBe(at.head)
    expect(await fileAt(at.gitDir, at.branch, 'three')).toBe('3')
  })

  it.each([
    ['the grant of its repository is revoked', 'repository_grants', 'revoked_at', 'repository_id::text'],
    ['its organization is suspended', 'organizations', 'suspended_at', 'id::text'],
  ])('stops working with a reason if %s, and writes nothing', async (what, table, column, id) => {
    const name = `sample/${table.replace('_', '-')}`
    const at = await FollowedSession.begin(test, { name, agent: 'echo made > made' })
    const set = (to: 'now()' | 'null') => {
      const of = table === 'organizations' ? test.tenant.organizationId : at.repositoryId
      return test.db.database.query(`update ${table} set ${column} = ${to} where ${id} = $1`, [of])
    }
    await at.rested()
    await set('now()')
    await at.report(at.head, 'failure')
    await until(`the end, since ${what}`, async () => {
      const { rows } = await test.db.database.query<{ reason: string | null }>(
        'select reason from follow_ups where session_id = $1',
        [at.at.session.id],
      )
      return rows[0]?.reason === 'authority_revoked'
    })
    expect(await at.comments()).toEqual([])
    await set('null')
    // Once the organization may look again, it sees why, and goes on by a request.
    expect(await at.read()).toMatchObject({ state: 'needs_person', reason: 'authority_revoked', attempts: 0 })
    const types = (await at.at.api.events(at.at.session.id)).filter(({ type }) => type === 'svc.followup.ended')
    expect(types).toMatchObject([{ data: { state: 'needs_person', reason: 'authority_revoked' } }])
    const again = await at.retry()
    expect(again).toMatchObject({ state: 'watching' })
    await at.when('the work on the check', ({ attempts }) => attempts === 1)
  })
})
