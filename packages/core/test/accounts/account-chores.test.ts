import { randomUUID } from 'node:crypto'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { pino } from 'pino'
import { afterAll, expect, it } from 'vitest'
import { accountChores } from '../../src/accounts/account-chores.ts'
import { appendAudit, operator } from '../../src/accounts/audit/append.ts'
import { issueInvitation } from '../../src/accounts/links/one-time-link.ts'

const DAY_MS = 86_400_000
const now = new Date()
const ago = (days: number) => new Date(now.getTime() - days * DAY_MS)
const made = await createTestDatabase()
afterAll(() => made[Symbol.asyncDispose]())

const doAll = async (days: number) => {
  const chores = accountChores(
    { db: made.database, clock: { now: () => now }, log: pino({ level: 'silent' }) },
    { auditMs: days * DAY_MS },
  )
  for (const chore of chores) await chore.work(AbortSignal.timeout(60_000))
}

it('entries of the audit log are forgotten once they are older than the setting says, and no earlier', async () => {
  const entry = { organizationId: null, actor: operator, action: 'organization.created', outcome: 'done' } as const
  for (const days of [401, 399, 0]) await appendAudit(made.database, { ...entry, target: `${days}` }, ago(days))
  await doAll(400)
  const { rows } = await made.database.query('select target from audit_log order by at')
  expect(rows).toEqual([{ target: '399' }, { target: '0' }])
})

it('records of sign-in are forgotten once they expire, consumed or not, and so are links', async () => {
  const insert = (kind: string, expires: Date | null, consumed: Date | null) =>
    made.database.query(
      'insert into oidc_records (kind, digest, payload, expires_at, consumed_at) values ($1, $2, $3, $4, $5)',
      [kind, Buffer.from(randomUUID()), '{}', expires, consumed],
    )
  await insert('expired', ago(1), null)
  await insert('consumed', ago(-1), ago(1))
  await insert('endless', null, null)
  const { organizationId } = await createTenant(made.database)
  for (const [email, at] of [
    ['old@example.test', ago(2)],
    ['new@example.test', now],
  ] as const) {
    await issueInvitation(made.database, { organizationId, email, role: 'member', permissions: [] }, null, at)
  }
  await doAll(400)
  const { rows: records } = await made.database.query('select kind from oidc_records order by kind')
  expect(records).toEqual([{ kind: 'consumed' }, { kind: 'endless' }])
  const { rows: links } = await made.database.query('select email from one_time_links')
  expect(links).toEqual([{ email: 'new@example.test' }])
})
