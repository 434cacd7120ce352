import { randomUUID } from 'node:crypto'
import type { Session } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Accounts, startAccounts } from '../support/accounts/accounts.ts'
import type { Api } from '../support/api/api.ts'
import { ConsolePage, personWithPassword } from '../support/console/console-page.ts'
import { LogWriter, storedLog } from '../support/events/log-writer.ts'
import { outcome } from '../support/runs/outcome.ts'

let accounts: Accounts
let writer: LogWriter
let api: Api
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_TRUSTED_PROXIES: '127.0.0.1' } })
  writer = await LogWriter.open(accounts.test.db)
  api = (await accounts.person({})).api
})
afterAll(async () => {
  await writer[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const keyOf = ({ organizationId, id }: Session) => ({ organizationId, sessionId: id })

describe('the overview of a Session', () => {
  it('has the Session, its active Run and the last hundred Events as they were stored', async () => {
    const session = await api.createSession({ title: 'to look at' }, 'a')
    await writer.append(keyOf(session), 120, { text: 'ü \u2028 </script>' })
    const { body, text } = await api.get(`/cloud/sessions/${session.id}/overview`)
    expect(body).toMatchObject({
      session: { id: session.id, title: 'to look at', lastEventSequence: 121 },
      state: { id: session.id, phase: 'queued', unread: true },
      run: { id: session.activeRunId, status: 'queued' },
      interactions: [],
      publications: [],
      merges: [],
      lastSequence: 121,
    })
    const stored = await storedLog(accounts.test.db, keyOf(session))
    const envelopes = stored.slice(-100).map(({ envelope }) => envelope)
    expect(text).toContain(`"events":[${envelopes.join(',')}]`)
  })

  it('is there before anything has happened', async () => {
    const session = await api.createSession()
    expect((await api.get(`/cloud/sessions/${session.id}/overview`)).body).toMatchObject({
      run: null,
      events: [],
      lastSequence: 0,
    })
  })

  it('is not for another organization, nor for an installation', async () => {
    const session = await api.createSession()
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    const path = `/cloud/sessions/${session.id}/overview`
    expect(outcome(await stranger.api.get(path))).toBe('404 cloud_session_not_found')
    expect(outcome(await accounts.test.api.get(path))).toBe('401 invalid_or_expired_credential')
  })
})

describe('the place of a Session', () => {
  it('is told of the organizations of the person alone', async () => {
    const db = accounts.test.db.database
    const { organizationId } = accounts.test.tenant
    const person = await personWithPassword(db, organizationId)
    const page = new ConsolePage(accounts.test.url, organizationId)
    await page.signIn(person)
    const { tenant, api: theirs } = await accounts.test.newTenant()
    const elsewhere = await theirs.createSession()
    const here = await api.createSession()
    const placesOf = async ({ id }: Session) =>
      (await page.get(`/cloud/session-locations/${id}`)).body['organizationIds']
    expect(await placesOf(here)).toEqual([organizationId])
    expect(await placesOf(elsewhere)).toEqual([])
    await db.query(
      `insert into memberships (id, organization_id, person_id, role, created_at) values ($1, $2, $3, 'member', now())`,
      [randomUUID(), tenant.organizationId, person.personId],
    )
    expect(await placesOf(elsewhere)).toEqual([tenant.organizationId])
    await db.query('update memberships set revoked_at = now() where organization_id = $1', [tenant.organizationId])
    expect(await placesOf(elsewhere)).toEqual([])
  })

  it('is for browsers: a token is of one organization', async () => {
    expect(outcome(await api.get(`/cloud/session-locations/${randomUUID()}`))).toBe('401 invalid_or_expired_credential')
  })
})
