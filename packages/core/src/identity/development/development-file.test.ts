import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { provideDevelopmentTenant, renewDevelopmentUrls } from './development-file.ts'

const at = (port: number, dataDir: string) => {
  const url = `http://127.0.0.1:${port}`
  return { dataDir, baseUrl: url, authUrl: url, consoleUrl: url }
}

describe('dev.json', () => {
  let db: TestDatabase
  let dataDir: string
  const file = () => readFileSync(join(dataDir, 'dev.json'), 'utf8')
  beforeAll(async () => {
    db = await createTestDatabase()
    dataDir = mkdtempSync(join(tmpdir(), 'berth-dev-'))
    await provideDevelopmentTenant(db.database, at(4100, dataDir), new Date())
  })
  afterAll(async () => {
    await db[Symbol.asyncDispose]()
    rmSync(dataDir, { recursive: true })
  })

  test('has the URLs of the latest start and the secrets of the first', async () => {
    const before = JSON.parse(file())
    expect(before).toMatchObject({ baseUrl: 'http://127.0.0.1:4100', apiKey: expect.any(String) })
    expect(await provideDevelopmentTenant(db.database, at(4200, dataDir), new Date())).toBeNull()
    await renewDevelopmentUrls(db.database, at(4200, dataDir))
    const { dataDir: _, ...urls } = at(4200, dataDir)
    expect(JSON.parse(file())).toEqual({ ...before, ...urls })
    expect(statSync(join(dataDir, 'dev.json')).mode & 0o777).toBe(0o600)
  })

  test('stays unchanged if the database has another tenant', async () => {
    await using other = await createTestDatabase()
    const before = file()
    await renewDevelopmentUrls(other.database, at(4300, dataDir))
    expect(file()).toBe(before)
  })
})
