import { signInPerson } from '@berth/testing/accounts/signer.ts'
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
const query = <Row extends object>(text: string, values: unknown[] = []) => test.db.database.query<Row>(text, values)
/** Waits until nobody answers for a follow-up, of which nobody may read at that time. */
const isRevoked = ({ at }: FollowedSession) =>
  until('the end, since nobody answers for it', async () => {
    const text = `select from follow_ups where session_id = $1 and reason = 'authority_revoked'`
    return (await query(text, [at.session.id])).rowCount > 0
  })

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
  ])('stops working with a reason if %s, and writes nothing', async (_, table, column, id) => {
    const name = `sample/${table.replace('_', '-')}`
    const at = await FollowedSession.begin(test, { name, agent: 'echo made > made' })
    const of = table === 'organizations' ? test.tenant.organizationId : at.repositoryId
    const set = (to: 'now()' | 'null') => query(`update ${table} set ${column} = ${to} where ${id} = $1`, [of])
    await at.rested()
    await set('now()')
    await at.report(at.head, 'failure')
    await isRevoked(at)
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

  it.each([
    ['whoever began it leaves', 'memberships', 'person_id', 'failed authority_revoked_dispatch'],
    ['the owner of its Session is revoked', 'installations', 'id', 'failed authority_revoked_dispatch'],
    // Its grant lets nothing out, and does not begin Runs.
    ['the grant of its repository is revoked', 'repository_grants', 'repository_id::text', 'completed'],
  ])('pushes nothing of a Turn that begins in the moment in which %s', async (_, table, id, ended) => {
    const name = `sample/moment-${table.replace('_', '-')}`
    const at = await FollowedSession.begin(test, { name, agent: `echo "\${FOLLOW_UP_CAUSE:-made}" > made` })
    const session = at.at.session.id
    const { organizationId, installationId } = test.tenant
    const { personId } = await signInPerson(test.db.database, organizationId)
    const of = { memberships: personId, installations: installationId }[table] ?? at.repositoryId
    const set = (to: 'now()' | 'null') => query(`update ${table} set revoked_at = ${to} where ${id} = $1`, [of])
    await at.rested()
    if (of === personId) {
      await query(`update follow_ups set started_by_kind = 'person', started_by_id = $2 where session_id = $1`, [
        session,
        personId,
      ])
    }
    await test.db.database.transaction(async tx => {
      await tx.query('select from sessions where id = $1 for update', [session])
      await at.report(at.head, 'failure')
      // The worker has decided on the Turn, and waits for the Session.
      await until('a Turn that is about to begin', async () => {
        const text = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return (await query(text)).rowCount > 0
      })
      await set('now()')
    })
    await isRevoked(at)
    const run = await until('the end of the Run', async () => {
      const { rows } = await query<{ ended: string }>(
        `select concat_ws(' ', status, error_code) as ended from runs
         where session_id = $1 and id <> $2 and ended_at is not null`,
        [session, at.at.session.activeRunId],
      )
      return rows[0]
    })
    expect(run.ended).toBe(ended)
    expect(await tipOf(at.gitDir, at.branch)).toBe(at.head)
    expect(await at.comments()).toEqual([])
    await set('null')
    expect(await at.read()).toMatchObject({ state: 'needs_person', attempts: 1, history: [{ cause: 'checks' }] })
    // Whoever asks again answers for it: the work is done, or pushed if it was.
    await at.retry()
    const { headSha } = await at.when('the work to be pushed', ({ headSha: head }) => head !== at.head)
    expect(headSha).toBe(await tipOf(at.gitDir, at.branch))
    expect(await fileAt(at.gitDir, at.branch, 'made')).toBe('checks')
  })
})
