import type { AuditEntry, AuditEntryPage, AuditFacets } from '@berth/contract'
import { appendAudit, operator } from '@berth/core/accounts/audit/append.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let organizationId: string
let admin: Awaited<ReturnType<Accounts['person']>>
let member: Awaited<ReturnType<Accounts['person']>>
beforeAll(async () => {
  accounts = await startAccounts()
  organizationId = (await accounts.test.newTenant()).tenant.organizationId
  admin = await accounts.person({ organizationId, role: 'admin' })
  member = await accounts.person({ organizationId })
  const actor = { kind: 'person', id: admin.who.personId, name: null } as const
  const { membershipId } = member.who
  await write(actor, 'member.changed', '2026-03-01T12:00:00Z', `membership/${membershipId}`)
  await write(actor, 'member.removed', '2026-03-02T00:00:00Z', 'membership/gone')
  await write(operator, 'organization.suspended', '2026-03-03T23:59:59.999Z', `organization/${organizationId}`)
  await write(
    { kind: 'app', id: 'nightly', name: 'Nightly' },
    'token.exchanged',
    '2026-03-04T00:00:00Z',
    'installation 1',
  )
})
afterAll(() => accounts[Symbol.asyncDispose]())

type Actor = Parameters<typeof appendAudit>[1]['actor']

const write = (actor: Actor, action: string, at: string, target: string) =>
  appendAudit(
    accounts.test.db.database,
    { organizationId, actor, action, target, outcome: 'done', details: { n: 1 }, address: '127.0.0.1' },
    new Date(at),
  )

const read = async (query: string, api: Api = admin.api) => {
  const answer = await api.get<AuditEntryPage>(`/cloud/audit?${query}`)
  expect(outcome(answer)).toBe('200')
  return answer.body as unknown as AuditEntryPage
}
const actions = async (query: string) => (await read(query)).entries.map(({ action }) => action)

describe('the audit log of an administrator', () => {
  it('names who did what to whom, newest first', async () => {
    const { entries } = await read('')
    expect(entries.map(({ action, actor, targetName }) => [action, actor.kind, actor.name, targetName])).toEqual([
      ['token.exchanged', 'app', 'Nightly', null],
      ['organization.suspended', 'operator', 'berth admin', null],
      ['member.removed', 'person', 'Robin Marsh', null],
      ['member.changed', 'person', 'Robin Marsh', 'Robin Marsh'],
    ])
    expect(entries[3]).toMatchObject({ address: '127.0.0.1', outcome: 'done', details: { n: 1 } })
  })

  it('names what people have named, and what is gone as its last entry did', async () => {
    const { tenant } = await accounts.test.newTenant()
    const { api } = await accounts.person({ organizationId: tenant.organizationId, role: 'admin' })
    const session = await api.createSession({ title: 'Look after the parser' })
    await api.call('DELETE', `/v1/sessions/${session.id}`)
    const { body } = await api.call('POST', '/cloud/compute/hosts', { name: 'Rack one' })
    const { id } = Object(body['host'])
    expect((await api.call('DELETE', `/cloud/compute/hosts/${id}`)).status).toBe(204)
    await accounts.test.db.database.query('delete from hosts where id = $1', [id])
    const names = (await read('', api)).entries.map(({ action, targetName }) => [action, targetName])
    expect(names).toEqual([
      ['host.removed', 'Rack one'],
      ['host.admitted', 'Rack one'],
      ['session.archived', 'Look after the parser'],
    ])
    const found = async (text: string) => (await read(`target=${text}`, api)).entries.map(({ action }) => action)
    expect(await found('PARSER')).toEqual(['session.archived'])
    expect(await found('rack')).toEqual(['host.removed', 'host.admitted'])
    const exported = await api.get('/cloud/audit/export?target=parser')
    expect(exported.text.trimEnd().split('\n')).toHaveLength(1)
    expect((await read('target=parser')).entries).toEqual([])
  })

  it('is filtered by actor, action, target and days, together', async () => {
    expect(await actions(`actor=${admin.who.personId}`)).toEqual(['member.removed', 'member.changed'])
    expect(await actions('actor=operator')).toEqual(['organization.suspended'])
    expect(await actions('action=member')).toEqual(['member.removed', 'member.changed'])
    expect(await actions('action=member.changed')).toEqual(['member.changed'])
    expect(await actions('action=mem')).toEqual([])
    expect(await actions('target=MEMBERSHIP/G')).toEqual(['member.removed'])
    expect(await actions('target=%25')).toEqual([])
    expect(await actions('target=robin%20m')).toEqual(['member.changed'])
    expect(await actions('from=2026-03-02&to=2026-03-03')).toEqual(['organization.suspended', 'member.removed'])
    expect(await actions('from=2026-03-02&action=member')).toEqual(['member.removed'])
  })

  it('comes in pages, whose cursor holds for the same filters alone', async () => {
    const first = await read('limit=1&action=member')
    expect([first.entries[0]?.action, first.hasMore]).toEqual(['member.removed', true])
    const second = await read(`limit=1&action=member&cursor=${first.nextCursor}`)
    expect([second.entries[0]?.action, second.hasMore]).toEqual(['member.changed', false])
    const other = await admin.api.get(`/cloud/audit?limit=1&cursor=${first.nextCursor}`)
    expect(outcome(other)).toBe('400 invalid_request')
  })

  it('tells what it can be filtered by', async () => {
    const { body } = await admin.api.get<AuditFacets>('/cloud/audit/facets')
    expect(body['actions']).toEqual(['member.changed', 'member.removed', 'organization.suspended', 'token.exchanged'])
    expect(new Set((body as unknown as AuditFacets).actors.map(({ name, filter }) => `${name} ${filter}`))).toEqual(
      new Set([`Robin Marsh ${admin.who.personId}`, 'berth admin operator', 'Nightly nightly']),
    )
  })

  it('is exported as lines of JSON with the same filters, and tells who did that', async () => {
    const answer = await admin.api.get('/cloud/audit/export?action=member')
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-\d{4}-\d\d-\d\d\.ndjson"$/)
    const lines = answer.text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as AuditEntry)
    expect(lines).toEqual((await read('action=member')).entries)
    const [entry] = (await read('action=audit.exported')).entries
    expect([entry?.actor.id, entry?.details]).toEqual([admin.who.personId, { action: 'member' }])
  })

  it('exports more than a page of them, each once', async () => {
    const many = (await accounts.test.newTenant()).tenant.organizationId
    const reader = await accounts.person({ organizationId: many, role: 'admin' })
    await accounts.test.db.database.query(
      `insert into audit_log (id, organization_id, at, actor_kind, action, outcome)
       select gen_random_uuid(), $1, '2026-03-01'::timestamptz + (n / 7) * interval '1 second', 'operator', 'a.b', 'done'
       from generate_series(1, 1234) n`,
      [many],
    )
    const { text } = await reader.api.get('/cloud/audit/export?action=a.b')
    const ids = text
      .trimEnd()
      .split('\n')
      .map(line => (JSON.parse(line) as AuditEntry).id)
    expect([ids.length, new Set(ids).size]).toEqual([1234, 1234])
  })
})

describe('the audit log', () => {
  const paths = ['/cloud/audit', '/cloud/audit/facets', '/cloud/audit/export', '/cloud/health']

  it.each(paths)('is for administrators alone: %s', async path => {
    const refused = await member.api.get(path)
    expect([outcome(refused), refused.body['requiredScope']]).toEqual([
      '403 insufficient_scope',
      'organization.administer',
    ])
  })

  it('never tells of another organization', async () => {
    const { organizationId: other } = (await accounts.test.newTenant()).tenant
    const stranger = await accounts.person({ organizationId: other, role: 'admin' })
    expect((await read('', stranger.api)).entries).toEqual([])
    expect((await stranger.api.get('/cloud/audit/facets')).body).toEqual({ actions: [], actors: [] })
    expect((await stranger.api.get('/cloud/audit/export?action=member')).text).toBe('')
  })
})
