import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Session, SessionEgress } from '@berth/contract'
import { MasterKey, parseMasterKey } from '@berth/platform/storage/master-key.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordEgress } from '../../src/sessions/egress/record-egress.ts'
import { auditSecretUses, egressChores } from '../../src/sessions/egress/secret-uses.ts'
import type { HostTally } from '../../src/sessions/egress/tally.ts'
import { rememberSecrets } from '../../src/sessions/log/session-redactor.ts'
import { purgeSessions } from '../../src/sessions/purge/purge-sessions.ts'

const stack = new AsyncDisposableStack()
let service: TestService
let session: Session

beforeAll(async () => {
  service = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  const key = parseMasterKey(readFileSync(join(service.dataDir, 'master.key'), 'utf8').trim())
  // The test opens what the service has sealed.
  if (key !== undefined) Object.assign(service.db.database, { masterKey: new MasterKey(key) })
})
beforeEach(async () => {
  session = await service.api.createSession({ runtime: 'shell' })
})
afterAll(() => stack.disposeAsync())

const at = (time: string) => new Date(`2026-03-01T${time}Z`)
const keyOf = ({ id }: Session) => ({ organizationId: service.tenant.organizationId, sessionId: id })
const tally = (host: string, more: Partial<HostTally> = {}): HostTally => ({
  ...{ host, port: 443, reached: 0, refused: 0, sentBytes: 0, receivedBytes: 0, lastReason: null, secrets: {} },
  ...more,
})
const record = (hosts: readonly HostTally[], now: Date) =>
  service.db.database.transaction(tx => recordEgress(tx, keyOf(session), null, { hosts, refusals: [] }, now))
const read = async () => (await service.api.get<SessionEgress>(`/v1/sessions/${session.id}/egress`)).body
const audited = async () => {
  const { rows } = await service.db.database.query<{ target: string; details: object }>(
    `select target, details from audit_log where action = 'egress_secret.used' and target = $1 order by at, id`,
    [`session/${session.id}`],
  )
  return rows.map(({ details }) => details)
}

test('adds up what a Session had to do with a host', async () => {
  await record(
    [tally('a.example.org', { reached: 2, sentBytes: 3, receivedBytes: 4, secrets: { KEY: 1 } })],
    at('10:00:00'),
  )
  await record([tally('b.example.org', { refused: 1, lastReason: 'denied' })], at('10:00:10'))
  const more = { reached: 1, refused: 1, lastReason: 'policy', secrets: { KEY: 2, OTHER: 1 } } as const
  await record([tally('a.example.org', more), tally('a.example.org', { port: 80, reached: 1 })], at('10:00:20'))
  const times = { firstAt: at('10:00:00').toISOString(), lastAt: at('10:00:20').toISOString() }
  expect((await read()).hosts).toEqual([
    {
      ...{ host: 'a.example.org', port: 80, reached: 1, refused: 0, sentBytes: 0, receivedBytes: 0, secrets: [] },
      ...{ firstAt: times.lastAt, lastAt: times.lastAt },
    },
    {
      ...{ host: 'a.example.org', port: 443, reached: 3, refused: 1, sentBytes: 3, receivedBytes: 4 },
      ...{ ...times, lastReason: 'policy' },
      secrets: [
        { name: 'KEY', uses: 3 },
        { name: 'OTHER', uses: 1 },
      ],
    },
    expect.objectContaining({ host: 'b.example.org', refused: 1, lastReason: 'denied' }),
  ])
})

test('has five hundred hosts of its own, and counts all others together', async () => {
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => tally(`h${from + index}.example.org`, { reached: 1, receivedBytes: 2 }))
  await record(many(0, 499), at('10:00:00'))
  await record(many(490, 20), at('10:00:10'))
  await record(many(495, 20), at('10:00:20'))
  const { hosts, others } = await read()
  expect(hosts).toHaveLength(500)
  expect(hosts.find(({ host }) => host === 'h499.example.org')).toMatchObject({ reached: 2 })
  await record([tally('used.example.org', { secrets: { KEY: 1 } })], at('10:00:30'))
  expect((await read()).hosts).toContainEqual(expect.objectContaining({ host: 'used.example.org' }))
  // h500 to h509, and h500 to h514.
  expect(others).toEqual({ reached: 25, refused: 0, sentBytes: 0, receivedBytes: 50 })
})

test('has five hundred more hosts that got a secret, and one entry of the audit log for all others', async () => {
  const used = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => tally(`u${from + index}.example.org`, { secrets: { KEY: 1 } }))
  await record(
    Array.from({ length: 500 }, (_, index) => tally(`u${index}.example.org`, { reached: 1 })),
    at('10:00:00'),
  )
  // Each of them has a row, and gets a secret only now.
  await record(used(0, 500), at('10:00:10'))
  await record([...used(500, 499), tally('last.example.org', { reached: 1 })], at('10:00:20'))
  await record([...used(999, 3), tally('unused.example.org', { reached: 1 })], at('10:00:30'))
  const { hosts, others } = await read()
  expect(hosts).toHaveLength(1000)
  expect(others).toMatchObject({ reached: 1 })
  await service.db.database.transaction(tx => auditSecretUses(tx, keyOf(session), at('10:30:00')))
  const entries = (await audited()) as readonly { readonly host?: string; readonly uses: number }[]
  expect(entries).toHaveLength(1000)
  expect(entries.filter(({ host }) => host === undefined)).toEqual([expect.objectContaining({ uses: 3 })])
})

test('masks a secret in the words of a refusal before it cuts them', async () => {
  const secret = 'verysecretvalue0123456789'
  await service.db.database.transaction(tx =>
    rememberSecrets(tx, keyOf(session), 'environment', [secret], at('09:00:00')),
  )
  const message = `${'x'.repeat(490)}${secret} and more`
  const refusal = { target: { host: 'a.example.org', port: 443 }, reason: 'policy', message, count: 1 } as const
  await service.db.database.transaction(tx =>
    recordEgress(tx, keyOf(session), null, { hosts: [], refusals: [refusal] }, at('10:00:00')),
  )
  const events = await service.api.events(session.id)
  const shown = events.find(({ type }) => type === 'svc.egress.refused')?.data['message']
  expect(shown).toHaveLength(500)
  expect(shown).not.toContain('very')
})

test('masks a secret that a program puts into a name', async () => {
  const secret = 'verysecretvalue0123456789'
  await service.db.database.transaction(tx =>
    rememberSecrets(tx, keyOf(session), 'environment', [secret], at('09:00:00')),
  )
  await record(
    [tally(`${secret}.example.org`, { refused: 1 }), tally(`x${secret}.example.org`, { refused: 1 })],
    at('10:00:00'),
  )
  expect(JSON.stringify(await read())).not.toContain(secret)
  expect((await read()).hosts.reduce((sum, { refused }) => sum + refused, 0)).toBe(2)
})

test('tells the uses of a secret to the audit log at the end of a Run, and once their hour is over', async () => {
  const use = (uses: number) => [tally('a.example.org', { reached: 1, secrets: { KEY: uses } })]
  await record(use(2), at('10:10:00'))
  await record(use(3), at('10:20:00'))
  await service.db.database.transaction(tx => auditSecretUses(tx, keyOf(session), at('10:30:00')))
  const entry = { secret: 'KEY', host: 'a.example.org', hour: at('10:00:00').toISOString() }
  expect(await audited()).toEqual([{ ...entry, uses: 5 }])
  await record(use(1), at('10:59:59'))
  await record(use(4), at('11:00:00'))
  const work = async (now: Date) => {
    const [chore] = egressChores({ db: service.db.database, clock: { now: () => now } })
    await chore?.work(new AbortController().signal)
  }
  await work(at('10:59:59'))
  expect(await audited()).toHaveLength(1)
  await work(at('11:00:00'))
  await work(at('11:30:00'))
  expect(await audited()).toEqual([
    { ...entry, uses: 5 },
    { ...entry, uses: 1 },
  ])
  await work(at('12:00:00'))
  expect((await audited()).at(-1)).toEqual({ ...entry, hour: at('11:00:00').toISOString(), uses: 4 })
})

test('tells the uses of a secret to the audit log before its Session is purged', async () => {
  await record([tally('a.example.org', { reached: 1, secrets: { KEY: 2 } })], at('10:10:00'))
  const { database: db } = service.db
  await db.query('update sessions set archived_at = $2 where id = $1', [session.id, at('10:20:00')])
  const clock = { now: () => at('10:30:00') }
  await purgeSessions({ db, clock }, at('10:25:00'), new AbortController().signal)
  expect(await audited()).toMatchObject([{ secret: 'KEY', host: 'a.example.org', uses: 2 }])
})

test('is read only by whoever sees the Session', async () => {
  await record([tally('a.example.org', { reached: 1 })], at('10:00:00'))
  const { api: stranger } = await service.newTenant()
  expect((await stranger.get(`/v1/sessions/${session.id}/egress`)).status).toBe(404)
})
