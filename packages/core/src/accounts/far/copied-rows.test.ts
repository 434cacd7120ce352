import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Database, Statement } from '@berth/platform/storage/postgres/database.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, expect, it } from 'vitest'
import { readAccountSnapshot } from './account-snapshot-sql.ts'
import { CopiedRows } from './copied-rows.ts'

const made = await createTestDatabase()
afterAll(() => made[Symbol.asyncDispose]())

it('copies that were looked at while a change was applied are looked at once more, and later ones are not', async () => {
  const snapshot = await readAccountSnapshot(made.database, await createTenant(made.database))
  if (snapshot === null) throw new Error('there is no standing')
  let checks = 0
  // The rows are here as well, so every look finds them.
  const db: Database = {
    async query<Row>(statement: string | Statement, values?: readonly unknown[]) {
      const found = await made.database.query<Row>(statement, values)
      checks += 1
      if (checks === 1) copies.atCursor('2')
      return found
    },
    transaction: (work, options) => made.database.transaction(work, options),
  }
  const copies = new CopiedRows(db, systemClock)
  copies.atCursor('1')
  const seen: number[] = []
  for (let n = 0; n < 3; n += 1) {
    await copies.provide(snapshot)
    seen.push(checks)
  }
  expect(seen).toEqual([1, 2, 2])
})
