import { requireFitPooler } from '@berth/platform/storage/postgres/pooler.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { databaseUrl, startTestService } from '@berth/testing/services/service.ts'
import { hasPgBouncer, keepsStatements, startPgBouncer } from '@berth/testing/storage/pgbouncer.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let db: TestDatabase
beforeAll(async () => {
  db = await createTestDatabase()
})
afterAll(() => db[Symbol.asyncDispose]())

const ignored = { ignore_startup_parameters: 'statement_timeout,idle_in_transaction_session_timeout' }
const options = (connectionString: string) => ({ connection: { connectionString }, log: silentLog })
function check(url: string, direct?: string) {
  const through = options(url)
  return requireFitPooler(through, direct === undefined ? through : options(direct))
}

test('a server without a pooler gives each connection its own process', async () => {
  const own = { connection: db.connection, log: silentLog }
  await requireFitPooler(own, own)
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

  test('in transaction mode without prepared statements, a way past it does not help', async () => {
    const settings = { ...ignored, pool_mode: 'transaction', ...(keepsStatements && { max_prepared_statements: '0' }) }
    await using pooler = await startPgBouncer(db, settings)
    await expect(check(pooler.url, databaseUrl(db))).rejects.toThrow(
      /^the pooler of DATABASE_URL .* keeps no prepared statements: use PgBouncer 1\.21 or newer/,
    )
  })

  test('the way past it has to lead past it, and to the same database', async () => {
    await using pooler = await startPgBouncer(db, { ...ignored, pool_mode: 'transaction' })
    await expect(check(pooler.url, pooler.url)).rejects.toThrow(/^BERTH_DATABASE_DIRECT_URL goes through a pooler/)
    await using other = await createTestDatabase()
    await expect(check(pooler.url, databaseUrl(other))).rejects.toThrow(
      /^BERTH_DATABASE_DIRECT_URL must name the database of DATABASE_URL/,
    )
  })

  test.runIf(keepsStatements)(
    'in transaction mode with prepared statements, a service works with a way past it',
    async () => {
      const settings = { ...ignored, pool_mode: 'transaction', max_prepared_statements: '200', default_pool_size: '5' }
      await using own = await createTestDatabase()
      await using pooler = await startPgBouncer(own, { ...settings, server_round_robin: '1' })
      const urls = { DATABASE_URL: pooler.url, BERTH_DATABASE_DIRECT_URL: databaseUrl(own) }
      await using service = await startTestService({ variables: urls })
      const { apiKey } = await createTenant(own.database)
      const api = new Api(service.url, apiKey)
      const sessions = await Promise.all(
        Array.from({ length: 6 }, (_, n) => api.createSession({ runtime: 'shell' }, `echo run ${n}`)),
      )
      for (const session of sessions) {
        const run = await endedRun(api, session, session.activeRunId ?? '')
        expect(outcomeOf(run)).toBe('completed completed - 1')
        const sequences = (await api.events(session.id)).map(({ sequence }) => sequence)
        expect(sequences).toEqual(sequences.map((_, index) => index + 1))
      }
      await until('sealed Sessions', async () =>
        (await Promise.all(sessions.map(({ id }) => api.session(id)))).every(({ phase }) => phase === 'idle'),
      )
    },
  )

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
