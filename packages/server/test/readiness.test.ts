import { expect, test } from 'vitest'
import { startTestService } from './support/service.ts'
import { until } from './support/until.ts'

const variables = { BERTH_ROLES: 'api,worker' }
const models = { id: 'main', kind: 'openai', apiKey: 'sk-x', baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm1' }] }

test('a worker without models needs no gateway', async () => {
  await using service = await startTestService({ variables })
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
})

test('a worker with models whose gateway is none is not ready, and says so', async () => {
  await using service = await startTestService({ variables, config: { providers: [models] } })
  const answer = await until('what is missing', async () => {
    const response = await fetch(`${service.url}/readyz`)
    return response.status === 503 && response
  })
  expect(await answer.json()).toMatchObject({ component: 'gateway' })
})
