import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSettings } from '@berth/platform/settings/settings.ts'
import { databaseUrl, startTestService, type TestService, testVariables } from '@berth/testing/services/service.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { serve } from '../../src/serve.ts'

const variables = { BERTH_ROLES: 'api,worker' }
const models = { id: 'main', kind: 'openai', apiKey: 'sk-x', baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm1' }] }

describe('a worker without models', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ variables })
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it('is ready without a gateway', async () => {
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
  })

  it('is not ready once a newer release has migrated its schema', async () => {
    const { database } = service.db
    await database.query("insert into schema_migrations (number, name, sha256) values (9999, '9999_newer.sql', '')")
    const answer = await fetch(`${service.url}/readyz`)
    expect([answer.status, await answer.json()]).toMatchObject([503, { component: 'migrations' }])
  })
})

test('a worker with models but without a reachable gateway is not ready, and says so', async () => {
  await using service = await startTestService({ variables, config: { providers: [models] } })
  const answer = await until('what is missing', async () => {
    const response = await fetch(`${service.url}/readyz`)
    return response.status === 503 && response
  })
  expect(await answer.json()).toMatchObject({ component: 'gateway' })
})

test('a service is ready only once its start has made everything', async () => {
  await using stack = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-ready-'))
  stack.defer(() => rm(dataDir, { recursive: true }))
  const db = stack.use(await createTestDatabase())
  const { promise: origin, resolve } = Promise.withResolvers<string>()
  const log = pino(
    {},
    {
      write: line =>
        void line
          .match(/listening at ([^" ]+)/)
          ?.slice(1)
          .forEach(resolve),
    },
  )
  const own = { BERTH_ROLES: 'api', BERTH_LOG_LEVEL: 'info', BERTH_DATA_DIR: dataDir, DATABASE_URL: databaseUrl(db) }
  const starting = db.database.transaction(async tx => {
    await tx.query('lock table installations')
    const started = serve(
      loadSettings({ ...testVariables, ...own }, () => undefined),
      log,
    )
    const answer = await fetch(`${await origin}/readyz`)
    expect([answer.status, await answer.json()]).toMatchObject([503, { component: 'start' }])
    expect(existsSync(join(dataDir, 'dev.json'))).toBe(false)
    return { started }
  })
  const service = stack.use(await (await starting).started)
  expect((await fetch(`${service.settings.urls.baseUrl}/readyz`)).status).toBe(200)
  expect(existsSync(join(dataDir, 'dev.json'))).toBe(true)
})
