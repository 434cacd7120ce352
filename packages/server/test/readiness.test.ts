import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { startTestService, type TestService } from './support/service.ts'
import { until } from './support/until.ts'

const variables = { BERTH_ROLES: 'api,worker' }
const models = { id: 'main', kind: 'openai', apiKey: 'sk-x', baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm1' }] }

describe('a worker without models', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ variables })
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it('needs no gateway to be ready', async () => {
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
  })

  it('is not ready once a newer release has migrated its schema', async () => {
    const { database } = service.db
    await database.query("insert into schema_migrations (number, name, sha256) values (9999, '9999_newer.sql', '')")
    const answer = await fetch(`${service.url}/readyz`)
    expect([answer.status, await answer.json()]).toMatchObject([503, { component: 'migrations' }])
  })
})

test('a worker with models whose gateway is none is not ready, and says so', async () => {
  await using service = await startTestService({ variables, config: { providers: [models] } })
  const answer = await until('what is missing', async () => {
    const response = await fetch(`${service.url}/readyz`)
    return response.status === 503 && response
  })
  expect(await answer.json()).toMatchObject({ component: 'gateway' })
})
