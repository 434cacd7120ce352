import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { LogReader } from '@berth/testing/events/log-reader.ts'
import { LogWriter } from '@berth/testing/events/log-writer.ts'
import { type StreamingApp, startStreamingApp } from '@berth/testing/events/streaming-app.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

const STREAMS = 64
const SESSIONS = 8
const ROUNDS = 400
const PACE_MS = 20

let db: TestDatabase
let app: StreamingApp
let writer: LogWriter
let tenant: Tenant
beforeAll(async () => {
  db = await createTestDatabase()
  app = await startStreamingApp(db)
  writer = await LogWriter.open(db)
  tenant = await createTenant(db.database)
})
afterAll(async () => {
  await writer[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await db[Symbol.asyncDispose]()
})

/** A client that reconnects whenever it is cut off, and counts every event that is not the very next one. */
class Client {
  readonly key: SessionKey
  newest = 0
  faults = 0
  #reader: LogReader | null = null

  constructor(key: SessionKey) {
    this.key = key
  }

  /** All places but the one just freed are taken, so the service may refuse it for a moment. */
  async open(): Promise<void> {
    this.#reader = await until('a place', () =>
      LogReader.open({ url: app.url, apiKey: tenant.apiKey }, this.key, this.newest).catch(() => undefined),
    )
  }

  /** Checks the events since the last call and keeps none of them. */
  check(): void {
    for (const { sequence, envelope } of this.#reader?.received.splice(0) ?? []) {
      if (sequence !== this.newest + 1 || JSON.parse(envelope).sequence !== sequence) this.faults += 1
      this.newest = sequence
    }
  }

  async leave(): Promise<void> {
    await this.#reader?.leave()
    this.check()
  }
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
function heapMb(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed / 1024 ** 2
}

test('64 streams cut off at random see every event once and leave nothing behind', { timeout: 240_000 }, async () => {
  const api = new Api(app.url, tenant.apiKey)
  const keys = await Promise.all(Array.from({ length: SESSIONS }, async () => keyOf(await api.createSession())))
  const clients = keys.flatMap(key => Array.from({ length: STREAMS / SESSIONS }, () => new Client(key)))
  await Promise.all(clients.map(client => client.open()))
  let middleMb = 0
  for (let round = 1; round <= ROUNDS; round += 1) {
    await Promise.all(keys.map((key, n) => writer.append(key, 1 + ((round + n) % 3))))
    const unlucky = clients[Math.floor(Math.random() * STREAMS)]
    await unlucky?.leave()
    await unlucky?.open()
    for (const client of clients) client.check()
    if (round === ROUNDS / 2) middleMb = heapMb()
    await sleep(PACE_MS)
  }
  const { rows } = await db.database.query<{ id: string; newest: number }>(
    'select id, last_event_sequence as newest from sessions',
  )
  const newest = new Map(rows.map(row => [row.id, row.newest]))
  await until('all clients to have all', () => {
    for (const client of clients) client.check()
    return clients.every(client => client.newest === newest.get(client.key.sessionId))
  })
  const endMb = heapMb()
  expect(clients.reduce((sum, { faults }) => sum + faults, 0)).toBe(0)
  expect([app.streams.tails, app.budget.open]).toEqual([SESSIONS, STREAMS])
  expect(endMb).toBeLessThan(middleMb * 1.25)

  await Promise.all(clients.map(client => client.leave()))
  await until('all places to be given back', () => app.budget.open === 0)
  expect(app.streams.tails).toBe(0)
})
