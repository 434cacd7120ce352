import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { type FarDeployments, startFar } from '@berth/testing/accounts/far.ts'
import { personToken, type SignedIn, signInPerson } from '@berth/testing/accounts/signer.ts'
import { nativeStandIn } from '@berth/testing/agents/scripted-runtimes.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { Sweeper } from '@berth/worker/host/sweeper.ts'
import { Worker } from '@berth/worker/worker.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readAccountSnapshot } from '../../src/accounts/far/account-snapshot-sql.ts'
import { CopiedRows } from '../../src/accounts/far/copied-rows.ts'
import { findLink, issueReset } from '../../src/accounts/links/one-time-link.ts'
import { resetPassword } from '../../src/accounts/links/reset-password.ts'
import { disablePerson } from '../../src/accounts/people/change-person.ts'
import { findUnauthorizedRuns } from '../../src/sessions/runs/authority-sql.ts'

const refused = '401 invalid_or_expired_credential'

let far: FarDeployments
let stack: AsyncDisposableStack
let tenant: Tenant
let api: Api
beforeAll(async () => {
  // bound: a pause between two looks at what a stream may show
  far = await startFar({ apiFixed: { streamAuthorityMs: 1000 } })
})
afterAll(() => far[Symbol.asyncDispose]())
beforeEach(async () => {
  far.between.passing = 'through'
  stack = new AsyncDisposableStack()
  tenant = await createTenant(accountDb())
  api = there(tenant.apiKey)
})
afterEach(() => stack.disposeAsync())

const accountDb = () => far.account.db.database
const apiDb = () => far.api.db.database
const there = (bearer: string) => new Api(far.api.process.url, bearer)
const change = (text: string, id: string) => accountDb().query(text, [id])
const tokenOf = (person: SignedIn) => personToken(far.signer.mint, person)

const revokeInstallation = 'update installations set revoked_at = now() where id = $1'
const suspend = 'update organizations set suspended_at = now() where id = $1'
const endMembership = 'update memberships set revoked_at = now() where id = $1'

/** Runs a worker beside the API's process, on its database. */
async function work(): Promise<void> {
  const native = stack.use(await nativeStandIn())
  const deployment = { db: far.api.db, dataDir: far.api.dataDir }
  const made = await workerContext(deployment, stack, { runtimes: [native.entry], limits: { cancelGraceMs: 600_000 } })
  const context = { ...made, defaultModel: 'any' }
  for (const service of [new Worker(context), new Sweeper(context)]) await stack.use(service).start()
}

const rowsOf = async <Row extends object>(text: string, id: string) => (await apiDb().query<Row>(text, [id])).rows
const endOf = ({ id }: Session) =>
  until('the end of the run', async () => {
    const text = `select concat_ws(' ', status, error_code) as ended from runs where session_id = $1 and ended_at is not null`
    return (await rowsOf<{ ended: string }>(text, id))[0]?.ended ?? false
  })
const has = (what: string, text: string, id: string) => until(what, async () => (await rowsOf(text, id)).length > 0)
const isRevoked = 'select 1 from installations where id = $1 and revoked_at is not null'

/** Opens a stream of a Session. */
async function openStream(bearer: string, { id }: Session): Promise<{ readonly end: Promise<void> }> {
  const leaving = new AbortController()
  stack.defer(() => leaving.abort())
  const answer = await fetch(`${api.url}/v1/sessions/${id}/events/stream`, {
    headers: { authorization: `Bearer ${bearer}` },
    signal: leaving.signal,
  })
  expect(answer.status).toBe(200)
  const read = async () => {
    for await (const _ of answer.body ?? []);
  }
  const end = read()
  end.catch(() => undefined)
  return { end }
}

const polls = () => far.between.requests.filter(({ path }) => path.startsWith('/internal/revocations')).length
const pollTwice = async () => {
  const before = polls()
  await until('two looks', () => polls() >= before + 2)
}

describe('a revocation at the account service stops over here', () => {
  it.each([
    ['an installation', revokeInstallation, () => tenant.installationId],
    ['an organization', suspend, () => tenant.organizationId],
  ])('the requests, streams and Runs of %s', async (_, statement, id) => {
    await work()
    const session = await api.createSession({}, 'tool here\nhang')
    const asking = await api.createSession({}, 'permission deploy')
    await has('a run at work', "select 1 from runs where session_id = $1 and status = 'running'", session.id)
    await has('an approval', "select 1 from interactions where session_id = $1 and status = 'open'", asking.id)
    const stream = await openStream(tenant.apiKey, session)
    await change(statement, id())
    expect(outcome(await api.get(`/v1/sessions/${session.id}`))).toBe(refused)
    await stream.end
    expect(await endOf(session)).toBe('failed authority_revoked')
    expect(await endOf(asking)).toBe('failed authority_revoked')
    const closed = "select 1 from interactions where session_id = $1 and resolution = 'authority_revoked'"
    expect(await rowsOf(closed, asking.id)).toHaveLength(1)
  })

  it('a Run that has not begun, with its product access', async () => {
    const session = await api.createSession({}, 'say never')
    await change("update installations set capabilities = '{svc.ai.invoke}' where id = $1", tenant.installationId)
    expect(await endOf(session)).toBe('failed authority_revoked_dispatch')
  })

  it('the connections of an installation to Git hosts', async () => {
    await api.get('/v1/sessions')
    const id = randomUUID()
    await apiDb().query(
      `insert into host_connections
         (id, organization_id, installation_id, host, provider, account, account_login, whole, created_at)
       values ($1, $2, $3, 'github.test', 'github', '1', 'acme', true, now())`,
      [id, tenant.organizationId, tenant.installationId],
    )
    await change(revokeInstallation, tenant.installationId)
    await has(
      'the end of the connection',
      'select 1 from host_connections where id = $1 and revoked_at is not null',
      id,
    )
  })

  it('a member’s token, stream and queued Run, and leaves the other members theirs', async () => {
    const [leaving, staying] = [
      await signInPerson(accountDb(), tenant.organizationId),
      await signInPerson(accountDb(), tenant.organizationId),
    ]
    const sessions = new Map<SignedIn, Session>()
    for (const person of [leaving, staying]) {
      sessions.set(person, await there(await tokenOf(person)).createSession({}, 'say something'))
    }
    const [theirs, others] = [sessions.get(leaving), sessions.get(staying)]
    if (theirs === undefined || others === undefined) throw new Error('no sessions')
    const stream = await openStream(await tokenOf(leaving), theirs)
    await change(endMembership, leaving.membershipId)
    expect(outcome(await there(await tokenOf(leaving)).get('/v1/me'))).toBe(refused)
    await stream.end
    expect(await endOf(theirs)).toBe('failed authority_revoked_dispatch')
    expect(await rowsOf('select 1 from runs where session_id = $1 and ended_at is null', others.id)).toHaveLength(1)
  })

  it('a disabled person’s queued Run', async () => {
    const person = await signInPerson(accountDb(), tenant.organizationId)
    const session = await there(await tokenOf(person)).createSession({}, 'say never')
    await disablePerson(accountDb(), person.email, new Date())
    expect(await endOf(session)).toBe('failed authority_revoked_dispatch')
  })

  it('accounts at Git hosts of a person whose account is recovered, and none that is connected afterwards', async () => {
    const person = await signInPerson(accountDb(), tenant.organizationId)
    await there(await tokenOf(person)).get('/v1/me')
    const connect = (host: string, at: Date) =>
      apiDb().query(
        `insert into host_people (id, person_id, host, provider, account, login, created_at)
         values ($1, $2, $3, 'github', '7', 'robin', $4)`,
        [randomUUID(), person.personId, host, at],
      )
    // The clocks of the two services are far apart.
    await connect('before', new Date(Date.now() + 3_600_000))
    const { secret } = await issueReset(accountDb(), person.personId, null, new Date())
    const link = await findLink(accountDb(), secret, new Date())
    if (link?.kind !== 'reset') throw new Error('there is no reset')
    await resetPassword(accountDb(), systemClock, link, { secret, password: 'a new password', address: '127.0.0.1' })
    const hosts = () => rowsOf<{ host: string }>('select host from host_people where person_id = $1', person.personId)
    await until('the account is unlinked', async () => (await hosts()).length === 0)
    await connect('after', new Date(0))
    // The feed brings the person again: for another change, and because it begins anew.
    await disablePerson(accountDb(), person.email, new Date())
    const isDisabled = 'select 1 from people where id = $1 and disabled_at is not null'
    await has('the other change', isDisabled, person.personId)
    await apiDb().query("update deployment set feed_position = '0'")
    await pollTwice()
    expect(await hosts()).toEqual([{ host: 'after' }])
  })

  it.each([
    ['a resumed organization', suspend, 'update organizations set suspended_at = null where id = $1'],
    [
      'product access that is given back',
      'update organizations set cloud_access = false where id = $1',
      'update organizations set cloud_access = true where id = $1',
    ],
  ])('nothing that begins before the API has heard of %s', async (_, stop, resume) => {
    const id = tenant.organizationId
    await api.get('/v1/sessions')
    await change(stop, id)
    await has(
      'the copy',
      'select 1 from organizations where id = $1 and not (suspended_at is null and cloud_access)',
      id,
    )
    await pollTwice()
    far.between.passing = 'no-changes'
    await change(resume, id)
    const session = await api.createSession({}, 'say never')
    const stopped = await findUnauthorizedRuns(apiDb(), 100)
    expect(stopped.map(({ sessionId }) => sessionId)).not.toContain(session.id)
  })

  it('nobody who has come back: a resumed organization, and a new membership of the same person', async () => {
    const person = await signInPerson(accountDb(), tenant.organizationId)
    await there(await tokenOf(person)).get('/v1/sessions')
    await change(suspend, tenant.organizationId)
    await has(
      'the copy',
      'select 1 from organizations where id = $1 and suspended_at is not null',
      tenant.organizationId,
    )
    await change('update organizations set suspended_at = null where id = $1', tenant.organizationId)
    await has('the copy', 'select 1 from organizations where id = $1 and suspended_at is null', tenant.organizationId)
    await change(endMembership, person.membershipId)
    const [membershipId, signInId] = [randomUUID(), randomUUID()]
    await accountDb().query(
      `insert into memberships (id, organization_id, person_id, role, created_at) values ($1, $2, $3, 'member', now())`,
      [membershipId, tenant.organizationId, person.personId],
    )
    await accountDb().query(
      `insert into sign_ins (id, person_id, membership_id, organization_id, client_id, created_at, last_used_at)
       values ($1, $2, $3, $4, 'svc-cloud', now(), now())`,
      [signInId, person.personId, membershipId, tenant.organizationId],
    )
    await work()
    const again = there(await tokenOf({ ...person, membershipId, signInId }))
    expect(await endOf(await again.createSession({}, 'say done'))).toBe('completed')
  })
})

describe('no revocation is missed', () => {
  it('if a transaction commits after later ones', async () => {
    const other = await createTenant(accountDb())
    for (const key of [tenant.apiKey, other.apiKey]) await there(key).get('/v1/sessions')
    const [begun, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = accountDb().transaction(async tx => {
      await tx.query(revokeInstallation, [tenant.installationId])
      begun.resolve()
      await commit.promise
    })
    await begun.promise
    await change(revokeInstallation, other.installationId)
    await pollTwice()
    commit.resolve()
    await slow
    for (const { installationId } of [tenant, other]) await has('the copy', isRevoked, installationId)
  })

  it('by an API that was down, whose rows are of before', async () => {
    const session = await api.createSession({}, 'say never')
    await far.api.kill()
    await change(revokeInstallation, tenant.installationId)
    await change(suspend, tenant.organizationId)
    await far.api.start()
    api = there(tenant.apiKey)
    expect(outcome(await api.get('/v1/sessions'))).toBe(refused)
    expect(await endOf(session)).toBe('failed authority_revoked_dispatch')
  })

  it('while the account service is down, once it is back', async () => {
    const session = await api.createSession({}, 'say never')
    await far.account.kill()
    await change(revokeInstallation, tenant.installationId)
    await far.restartAccount()
    expect(await endOf(session)).toBe('failed authority_revoked_dispatch')
  })

  it('if it came between the verdict and the copy', async () => {
    const snapshot = await readAccountSnapshot(accountDb(), tenant)
    await change(revokeInstallation, tenant.installationId)
    await pollTwice()
    if (snapshot === null) throw new Error('no standing')
    await new CopiedRows(apiDb(), systemClock).provide(snapshot)
    await has('the copy', isRevoked, tenant.installationId)
  })

  it('if there are more than one page of them', async () => {
    const { organizationId, appSlug } = tenant
    await api.get('/v1/sessions')
    await accountDb().query(
      `insert into installations (id, organization_id, app_slug, capabilities, created_at, kind)
       select gen_random_uuid(), $1, $2, '{}', now(), 'integration' from generate_series(1, 1200)`,
      [organizationId, appSlug],
    )
    await change('update installations set revoked_at = now() where organization_id = $1', organizationId)
    await has('the copy', isRevoked, tenant.installationId)
  })

  it('after the account service was restored to a database that has seen fewer transactions', async () => {
    await api.get('/v1/sessions')
    await apiDb().query("update deployment set feed_position = '9000000000000'")
    await change(revokeInstallation, tenant.installationId)
    await has('the copy', isRevoked, tenant.installationId)
  })
})
