import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireOwnConnections } from '../../src/storage/postgres/pooler.ts'
import { silentLog } from '../support/services/log.ts'
import { startTestService } from '../support/services/service.ts'
import { hasPgBouncer, startPgBouncer } from '../support/storage/pgbouncer.ts'
import { createTestDatabase, type TestDatabase } from '../support/storage/postgres.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db[Symbol.asyncDispose]())

const ignored = { ignore_startup_parameters: 'statement_timeout,idle_in_transaction_session_timeout' }
const check = (url: string) => requireOwnConnections({ connection: { connectionString: url }, log: silentLog })

test('a server without a pooler gives each connection its own process', async () => {
  await requireOwnConnections({ connection: db.connection, log: silentLog })
})

describe.runIf(hasPgBouncer)('behind PgBouncer', () => {
  test.each([
    ['that hands out the connection used last', {}],
    ['that hands out the connection used least recently', { server_round_robin: '1' }],
    ['that has one connection', { default_pool_size: '1' }],
    ['that has several connections open', { min_pool_size: '5', server_round_robin: '1' }],
  ])('in transaction mode %s, the start is refused', async (_how, settings) => {
    await using pooler = await startPgBouncer(db, { ...ignored, pool_mode: 'transaction', ...settings })
    await expect(check(pooler.url)).rejects.toThrow(/^DATABASE_URL goes through a pooler .* Set pool_mode to session/)
  })

  test('that refuses the parameters of a connection, the start names the ones to ignore', async () => {
    await using pooler = await startPgBouncer(db, { pool_mode: 'session' })
    await expect(check(pooler.url)).rejects.toThrow(
      /^the pooler in front of the database refuses the parameter \w+: add statement_timeout and/,
    )
  })

  test('in session mode, a service starts and works', async () => {
    await using pooler = await startPgBouncer(db, { ...ignored, pool_mode: 'session', default_pool_size: '50' })
    await using service = await startTestService({ variables: { BERTH_ROLES: 'api', DATABASE_URL: pooler.url } })
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
  })
})
