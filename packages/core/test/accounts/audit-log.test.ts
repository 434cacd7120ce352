import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { appendAudit, operator } from '../../src/accounts/audit/append.ts'

const db = await createTestDatabase()
const entry = { organizationId: null, actor: operator, action: 'person.disabled', outcome: 'done' } as const
await appendAudit(db.database, { ...entry, target: 'person/1', details: { reason: 'left' } }, new Date())
afterAll(() => db[Symbol.asyncDispose]())

describe('the audit log', () => {
  it('tells who did what to what', async () => {
    const { rows } = await db.database.query('select actor_kind, action, target, outcome, details from audit_log')
    expect(rows).toEqual([
      {
        actor_kind: 'operator',
        action: 'person.disabled',
        target: 'person/1',
        outcome: 'done',
        details: { reason: 'left' },
      },
    ])
  })

  it.each(["update audit_log set action = 'nothing'", 'delete from audit_log', 'truncate audit_log'])(
    'refuses: %s',
    async statement => {
      await expect(db.database.query(statement)).rejects.toThrow('append-only')
    },
  )
})
