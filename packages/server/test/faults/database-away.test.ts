import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { databaseUrl, startTestService, type TestService } from '@berth/testing/services/service.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { type SeverableDatabase, severable } from '@berth/testing/storage/severable-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let db: TestDatabase
let proxy: SeverableDatabase
let test: TestService
let api: Api
beforeAll(async () => {
  db = await createTestDatabase()
  proxy = await severable(db)
  const variables = { BERTH_ROLES: 'api', DATABASE_URL: databaseUrl({ ...db, connection: proxy.connection }) }
  test = await startTestService({ variables })
  api = new Api(test.url, (await createTenant(db.database)).apiKey)
})
afterAll(async () => {
  await test[Symbol.asyncDispose]()
  await proxy[Symbol.asyncDispose]()
  await db[Symbol.asyncDispose]()
})

const status = async (path: string) => {
  const response = await fetch(test.url + path)
  await response.body?.cancel()
  return response.status
}

describe('a database that is away', () => {
  it('gives every caller 503 and a delay until it is back', async () => {
    const session = await api.createSession({ title: 'a' })
    await proxy.cut()
    for (const caller of [api, new Api(test.url, 'svc_cloud_live_unknown')]) {
      const answer = await caller.get(`/v1/sessions/${session.id}`)
      expect([answer.status, answer.text, answer.headers.get('retry-after')]).toEqual([
        503,
        '{"error":"service_unavailable"}',
        '2',
      ])
    }
    expect([await status('/healthz'), await status('/readyz'), await status('/v1/openapi.json')]).toEqual([
      200, 503, 200,
    ])
    await proxy.mend()
    expect(await api.session(session.id)).toEqual(session)
    expect(await status('/readyz')).toBe(200)
  })
})
