import type { Session, SessionMatchPage } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { LogWriter } from '@berth/testing/events/log-writer.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let api: Api
let writer: LogWriter
beforeAll(async () => {
  accounts = await startAccounts()
  writer = await LogWriter.open(accounts.test.db)
  api = (await accounts.person({})).api
})
afterAll(async () => {
  await writer[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const keyOf = ({ organizationId, id }: Session) => ({ organizationId, sessionId: id })
const search = ({ id }: Session, query: string, at = api) =>
  at.get<SessionMatchPage & { error?: string }>(`/cloud/sessions/${id}/search?${query}`)

describe('the search in a Session', () => {
  it('finds words in either case with what stands around them, the newest first', async () => {
    const session = await api.createSession()
    await writer.append(keyOf(session), 1, { text: 'It says "Flaky Test"\nhere.' })
    await writer.append(keyOf(session), 3, { text: 'Nothing.' })
    await writer.append(keyOf(session), 1, { text: 'A flaky test, ünïcode' })
    const { body } = await search(session, 'q=flaky%20test')
    expect(body.matches.map(({ excerpt }) => excerpt)).toEqual([
      { before: 'A ', match: 'flaky test', after: ', ünïcode' },
      { before: 'It says "', match: 'Flaky Test', after: '"\nhere.' },
    ])
    expect(body.matches.map(({ sequence }) => sequence)).toEqual([5, 1])
    expect(body.before).toBeNull()
    for (const q of ['"Flaky', 'test"\nhere', 'ÜNÏCODE'.toLowerCase()]) {
      expect((await search(session, `q=${encodeURIComponent(q)}`)).body.matches).toHaveLength(1)
    }
  })

  it('takes wildcards as they stand, and finds no ids or names of members', async () => {
    const session = await api.createSession()
    await writer.append(keyOf(session), 1, { text: 'all of it' })
    for (const q of ['%', '_', '.*', 'messageId', 'svc.message', session.id]) {
      expect((await search(session, `q=${encodeURIComponent(q)}`)).body.matches).toEqual([])
    }
  })

  it('goes on where it stopped', async () => {
    const session = await api.createSession()
    await writer.append(keyOf(session), 120, { text: 'again' })
    const found: number[] = []
    let before = ''
    for (let page = 0; page < 5; page++) {
      const { body } = await search(session, `q=again${before}`)
      found.push(...body.matches.map(({ sequence }) => sequence))
      if (body.before === null) break
      before = `&before=${body.before}`
    }
    expect(found).toEqual(Array.from({ length: 120 }, (_, at) => 120 - at))
  })

  it('is not for people of another organization, and refuses what is no search', async () => {
    const session = await api.createSession()
    const { tenant } = await accounts.test.newTenant()
    const stranger = await accounts.person({ organizationId: tenant.organizationId })
    expect(outcome(await search(session, 'q=a', stranger.api))).toBe('404 cloud_session_not_found')
    for (const query of ['', 'q=', `q=${'a'.repeat(201)}`, 'q=a&before=0', 'q=a&before=x']) {
      expect(outcome(await search(session, query))).toBe('400 invalid_request')
    }
  })
})
