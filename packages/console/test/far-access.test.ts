import { randomBytes, randomUUID } from 'node:crypto'
import type { ArtifactPage, ArtifactViewLink, PortList, PortPreview, Session } from '@berth/contract'
import { readAccountSnapshot } from '@berth/core/accounts/far/account-snapshot-sql.ts'
import { CopiedRows } from '@berth/core/accounts/far/copied-rows.ts'
import { disablePerson, enablePerson } from '@berth/core/accounts/people/change-person.ts'
import { endSignInOf } from '@berth/core/accounts/people/end-sign-in.ts'
import { findUnauthorizedRuns } from '@berth/core/sessions/runs/authority-sql.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { isLive, putSubscription } from '@berth/server/console/push/subscription-sql.ts'
import type { FarDeployments } from '@berth/testing/accounts/far.ts'
import { personToken, type SignedIn, signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { askHost } from '@berth/testing/console/ask-host.ts'
import { startFarConsole } from '@berth/testing/console/far-console.ts'
import { TerminalClient, ticketOf } from '@berth/testing/console/terminal-client.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

/** Serves on port 3000 until it is told to stop. */
const serve = `
node -e 'require("node:http").createServer((_, answer) => answer.end("here")).listen(3000, "127.0.0.1")' &
while [ ! -e stop ]; do sleep 0.1; done`

let far: FarDeployments
let stack: AsyncDisposableStack
let tenant: Tenant
beforeAll(async () => {
  // bound: a pause between two reads of a stream
  far = await startFarConsole({ BERTH_ROLES: 'api,gateway,worker' }, { streamAuthorityMs: 1000 })
  tenant = await createTenant(accountDb())
})
afterAll(() => far[Symbol.asyncDispose]())
beforeEach(() => {
  far.between.passing = 'through'
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

const accountDb = () => far.account.db.database
const apiDb = () => far.api.db.database
const apiOf = async (person: SignedIn) => new Api(far.api.process.url, await personToken(far.signer.mint, person))

const endings: Readonly<Record<string, (person: SignedIn) => Promise<unknown>>> = {
  'a sign-in that ends': person =>
    accountDb().transaction(tx => endSignInOf(tx, { ...person, address: '127.0.0.1' }, new Date())),
  'a person who is disabled': ({ email }) => disablePerson(accountDb(), email, new Date()),
}

async function servingSession(api: Api): Promise<Session> {
  const session = await api.createSession({ runtime: 'shell' }, serve)
  const ports = `/cloud/sessions/${session.id}/ports`
  await until('the port', async () => (await api.get<PortList>(ports)).body.ports?.includes(3000))
  return session
}

/** A Session that has presented a page. @returns the path of the artifact's view */
async function presentedPage(api: Api): Promise<string> {
  const { id } = await api.createSession({ runtime: 'shell' }, "echo '<p>Report</p>' > a.html; berth-present a.html")
  await until('the end', async () => (await api.session(id)).phase === 'idle')
  const { artifacts } = (await api.get<ArtifactPage>(`/v1/sessions/${id}/artifacts`)).body
  return `/cloud/sessions/${id}/artifacts/${artifacts.find(({ name }) => name === 'a.html')?.id}/view`
}

async function openedTerminal(api: Api, { id }: Session): Promise<TerminalClient> {
  const client = stack.use(new TerminalClient(ticketOf(await api.call('POST', `/cloud/sessions/${id}/terminals`, {}))))
  return client.ready()
}

/** Enters a preview. @returns a function that asks for its status */
async function openedPreview(api: Api, { id }: Session): Promise<() => Promise<number>> {
  const opened = await api.call<PortPreview>('POST', `/cloud/sessions/${id}/ports/3000/preview`)
  expect(opened.status, opened.text).toBe(201)
  const { headers } = await askHost(opened.body.url)
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  return async () => (await askHost(new URL('/', opened.body.url), { headers: { cookie } })).status
}

/** Opens a view. @returns a function that asks for its status */
async function openedView(api: Api, path: string): Promise<() => Promise<number>> {
  const opened = await api.call<ArtifactViewLink>('POST', path)
  expect(opened.status, opened.text).toBe(201)
  const { text } = await askHost(opened.body.url)
  const [, content = ''] = /<iframe [^>]*src="([^"]+)"/.exec(text) ?? []
  return async () => (await askHost(new URL(content, opened.body.url))).status
}

/** Subscribes a browser. @returns a function that tells whether it is pushed to */
async function subscribed(person: SignedIn): Promise<() => Promise<boolean>> {
  const id = randomUUID()
  const subscription = {
    id,
    endpointDigest: randomBytes(32),
    sealed: randomBytes(32),
    agent: null,
    needsYou: true,
    runEnded: true,
  }
  await apiDb().transaction(tx => putSubscription(tx, person, subscription, new Date(), 10))
  return async () => {
    const { rows } = await apiDb().query(`select from push_subscriptions p where id = $1 and ${isLive('$2')}`, [
      id,
      new Date(0),
    ])
    return rows.length === 1
  }
}

describe.each(Object.entries(endings))('with an account service of another database, %s', (_, end) => {
  it('closes their terminal, preview, view and push, and nobody else’s', async () => {
    const [leaving, staying] = [
      await signInPerson(accountDb(), tenant.organizationId),
      await signInPerson(accountDb(), tenant.organizationId),
    ]
    const session = await servingSession(await apiOf(staying))
    const page = await presentedPage(await apiOf(staying))
    const [theirs, others] = await Promise.all(
      [leaving, staying].map(async person => {
        const api = await apiOf(person)
        return {
          terminal: await openedTerminal(api, session),
          preview: await openedPreview(api, session),
          view: await openedView(api, page),
          push: await subscribed(person),
        }
      }),
    )
    if (theirs === undefined || others === undefined) throw new Error('nothing was opened')
    expect([await theirs.preview(), await theirs.view(), await theirs.push()]).toEqual([200, 200, true])
    await end(leaving)
    expect(await theirs.terminal.end()).toBe('access_ended')
    expect([await theirs.preview(), await theirs.view(), await theirs.push()]).toEqual([403, 403, false])
    others.terminal.type('echo still-"here"; touch /workspace/stop\r')
    await others.terminal.until(/still-here/)
    expect([await others.view(), await others.push()]).toEqual([200, true])
  })

  it('is not missed if it came between the verdict and the copy', async () => {
    const person = await signInPerson(accountDb(), tenant.organizationId)
    await end(person)
    const polls = () => far.between.requests.filter(({ path }) => path.startsWith('/internal/revocations')).length
    const before = polls()
    await until('two looks', () => polls() >= before + 2)
    const snapshot = await readAccountSnapshot(accountDb(), person)
    if (snapshot === null) throw new Error('no standing')
    await new CopiedRows(apiDb(), systemClock).provide(snapshot, person.signInId)
    const { rows } = await apiDb().query(
      `select from sign_ins s join people p on p.id = s.person_id
       where s.id = $1 and s.ended_at is not null and (p.disabled_at is null) = $2`,
      [person.signInId, end === endings['a sign-in that ends']],
    )
    expect(rows).toHaveLength(1)
  })
})

describe('with an account service of another database, a person who is enabled again', () => {
  it('begins Runs at once, although the API has not heard of it', async () => {
    const person = await signInPerson(accountDb(), tenant.organizationId)
    await (await apiOf(person)).get('/v1/sessions')
    await disablePerson(accountDb(), person.email, new Date())
    await until('the copy', async () => {
      const text = 'select from people where id = $1 and disabled_at is not null'
      return (await apiDb().query(text, [person.personId])).rows.length === 1
    })
    far.between.passing = 'no-changes'
    await enablePerson(accountDb(), person.email, new Date())
    const signInId = randomUUID()
    await accountDb().query(
      `insert into sign_ins (id, person_id, membership_id, organization_id, client_id, created_at, last_used_at)
       values ($1, $2, $3, $4, 'svc-cloud', now(), now())`,
      [signInId, person.personId, person.membershipId, tenant.organizationId],
    )
    const session = await (await apiOf({ ...person, signInId })).createSession({}, 'say never')
    const stopped = await findUnauthorizedRuns(apiDb(), 100)
    expect(stopped.map(({ sessionId }) => sessionId)).not.toContain(session.id)
  })
})
