import { randomUUID } from 'node:crypto'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { type CacheScope, listCaches, putCache, useCache } from '../../src/environments/cache/cache-sql.ts'
import { environmentChores } from '../../src/environments/environment-chores.ts'
import { readNamedBlobs } from '../../src/housekeeping/named-blobs.ts'

const db = await createTestDatabase()
afterAll(() => db[Symbol.asyncDispose]())

const day = (number: number) => new Date(Date.UTC(2026, 0, number))

async function makeScope(): Promise<CacheScope> {
  const { organizationId } = await createTenant(db.database)
  const environmentId = randomUUID()
  await db.database.query(
    "insert into environments (organization_id, id, name, folded_name, revision) values ($1, $2, 'n', 'n', 1)",
    [organizationId, environmentId],
  )
  return { organizationId, environmentId, key: Buffer.from('key') }
}

test('a cache goes once nobody has used it for seven days, and its blobs are named until then', async () => {
  const scope = await makeScope()
  const cache = { home_manifest: null, workspace_manifest: '{}', searched: Buffer.from('s') }
  const blob = (letter: string) => letter.repeat(64)
  await putCache(db.database, scope, { ...cache, branch: 'old', saved_at: day(1), blobs: [blob('a')] })
  await putCache(db.database, scope, { ...cache, branch: 'used', saved_at: day(1), blobs: [blob('b'), blob('c')] })
  await useCache(db.database, scope, 'used', day(5))
  const clock = { now: () => day(8) }
  const forget = environmentChores({ db: db.database, clock, log: pino({ level: 'silent' }) }).find(
    ({ name }) => name === 'forget-caches',
  )
  const named = async () => (await Array.fromAsync(readNamedBlobs(db.database))).sort()
  await forget?.work(AbortSignal.timeout(60_000))
  expect(await named()).toEqual([blob('a'), blob('b'), blob('c')])
  clock.now = () => new Date(day(8).getTime() + 1)
  await forget?.work(AbortSignal.timeout(60_000))
  expect(await named()).toEqual([blob('b'), blob('c')])
  // A later save replaces the earlier one.
  await putCache(db.database, scope, { ...cache, branch: 'used', saved_at: day(8), blobs: [blob('d')] })
  expect(await named()).toEqual([blob('d')])
  expect(await listCaches(db.database, scope, day(1))).toMatchObject([{ branch: 'used', saved_at: day(8) }])
  expect(await listCaches(db.database, scope, day(9))).toEqual([])
})
