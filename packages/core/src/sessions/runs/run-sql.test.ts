import { randomUUID } from 'node:crypto'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, expect, test } from 'vitest'
import { insertRun, requeueRun } from './run-sql.ts'

const HOUR_MS = 60 * 60_000

const made = await createTestDatabase()
afterAll(() => made[Symbol.asyncDispose]())

async function insertSession() {
  const { organizationId, installationId } = await createTenant(made.database)
  const sessionId = randomUUID()
  await made.database.query(
    `insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
     values ($1, $2, 'app_installation', $3, '', 't', now(), now())`,
    [organizationId, sessionId, installationId],
  )
  return { organizationId, sessionId }
}

/** Returns how long a Run still waits before it may be claimed, in seconds by the database's clock. */
async function waits(runId: string): Promise<number> {
  const { rows } = await made.database.query<{ seconds: number }>(
    'select extract(epoch from due_at - clock_timestamp())::float8 as seconds from runs where id = $1',
    [runId],
  )
  return rows[0]?.seconds ?? Number.NaN
}

test.each([
  ['ahead', HOUR_MS],
  ['behind', -HOUR_MS],
])('a run waits for no worker longer than it should if the clock of its process is %s', async (_, offBy) => {
  const key = await insertSession()
  const id = randomUUID()
  const now = new Date(Date.now() + offBy)
  await insertRun(made.database, key, { id, turnId: randomUUID(), runtime: null, model: null, effort: null, now })
  expect(await waits(id)).toBeLessThanOrEqual(0)
  await requeueRun(made.database, key, id, { now, pauseMs: 60_000 })
  expect(await waits(id)).toBeLessThanOrEqual(60)
})
