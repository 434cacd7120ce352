import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogDigest } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { migrate } from '@berth/platform/storage/postgres/migrate.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { LogWriter, storedLog } from '@berth/testing/events/log-writer.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appendEvents } from '../../src/sessions/log/append.ts'
import { digestAt } from '../../src/sessions/log/chain.ts'
import { sealLog } from '../../src/sessions/purge/seal-logs.ts'

const stack = new AsyncDisposableStack()
let test: TestService
let blobs: FileBlobs
let writer: LogWriter
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  blobs = await FileBlobs.open(join(test.dataDir, 'blobs'))
  writer = stack.use(await LogWriter.open(test.db))
})
afterAll(() => stack.disposeAsync())

const newLog = async (): Promise<SessionKey> => keyOf(await test.api.createSession())

const digestOver = ({ sessionId }: SessionKey, at?: number) =>
  test.api.get<LogDigest>(`/v1/sessions/${sessionId}/events/digest${at === undefined ? '' : `?at=${at}`}`)

const sha256 = (...parts: readonly (string | Buffer)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

/** Digests texts as the documentation says, with nothing of the service. */
function chainOf({ sessionId }: SessionKey, texts: readonly string[], begins = 1): readonly string[] {
  const digests = [sha256(`berth log ${sessionId} from ${begins}`)]
  for (const text of texts) digests.push(sha256(digests.at(-1) ?? '', text))
  return digests.slice(1).map(digest => digest.toString('hex'))
}

const textsOf = async (key: SessionKey) => (await storedLog(test.db, key)).map(({ envelope }) => envelope)

/** What the service says of every Event of a log. */
const digestsOf = async (key: SessionKey, through: number, from = 1) => {
  const digests: (string | null)[] = []
  for (let at = from; at <= through; at += 1) digests.push((await digestOver(key, at)).body.digest)
  return digests
}

describe('the digest of a log', () => {
  it('is that of each Event behind the one before, however they were appended', async () => {
    const key = await newLog()
    await writer.append(key)
    await writer.append(key, 4, { text: 'ünï\u2028 "x"\n\\ 🚢' })
    await writer.append(key)
    await writer.append(key, 2)
    expect(await digestsOf(key, 8)).toEqual(chainOf(key, await textsOf(key)))
  })

  it('is that of the newest Event if none is named, and of none beyond it', async () => {
    const key = await newLog()
    expect((await digestOver(key)).body).toEqual({ sequence: 0, digest: null, beginsAt: null, lastSequence: 0 })
    await writer.append(key, 3)
    const [, second, third] = chainOf(key, await textsOf(key))
    expect((await digestOver(key)).body).toEqual({ sequence: 3, digest: third, beginsAt: 1, lastSequence: 3 })
    expect((await digestOver(key, 2)).body).toEqual({ sequence: 2, digest: second, beginsAt: 1, lastSequence: 3 })
    expect([outcome(await digestOver(key, 4)), outcome(await digestOver(key, 0))]).toEqual([
      '400 invalid_request',
      '400 invalid_request',
    ])
  })

  it('counts what the own transaction has appended, and forgets it with that', async () => {
    const key = await newLog()
    await writer.append(key, 2)
    const before = await digestAt(test.db.database, key, null)
    const undone = test.db.database.transaction(async tx => {
      await appendEvents(tx, key, [{ type: 'svc.test', data: {} }], new Date())
      const { rows } = await tx.query<{ envelope: string }>({
        text: 'select envelope from events where session_id = $1 order by sequence',
        values: [key.sessionId],
      })
      const chain = chainOf(
        key,
        rows.map(({ envelope }) => envelope),
      )
      expect(await digestAt(tx, key, null)).toMatchObject({ sequence: 3, digest: chain.at(-1) })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await digestAt(test.db.database, key, null)).toEqual(before)
    await writer.append(key, 2)
    expect(await digestsOf(key, 4)).toEqual(chainOf(key, await textsOf(key)))
  })

  it('begins where an older log was gone on with', async () => {
    const key = await newLog()
    await writer.append(key, 3)
    await asOwner('update events set digest = null where session_id = $1', key)
    await asOwner('update sessions set log_digest = null, chain_begins = null where id = $1', key)
    expect((await digestOver(key)).body).toEqual({ sequence: 3, digest: null, beginsAt: null, lastSequence: 3 })
    await writer.append(key)
    await writer.append(key, 2)
    const chain = chainOf(key, (await textsOf(key)).slice(3), 4)
    expect(await digestsOf(key, 6)).toEqual([null, null, null, ...chain])
    expect((await digestOver(key, 2)).body).toMatchObject({ digest: null, beginsAt: 4 })
  })

  it('is the same once pages of the log lie in the blob store', async () => {
    const key = await newLog()
    await writer.append(key, 3)
    await writer.append(key, 1_200)
    await writer.append(key, 5)
    const chain = chainOf(key, await textsOf(key))
    const places = [1, 2, 3, 4, 500, 999, 1_000, 1_001, 1_202, 1_203, 1_204, 1_207, 1_208]
    await test.db.database.query("update sessions set archived_at = now() - interval '2 days' where id = $1", [
      key.sessionId,
    ])
    await sealLog({ db: test.db.database, blobs }, key, AbortSignal.timeout(60_000))
    for (const place of places) expect((await digestOver(key, place)).body.digest).toBe(chain[place - 1])
    await writer.append(key, 3)
    expect((await digestOver(key, 1_208)).body.digest).toBe(chain[1_207])
  })
})

describe('many writers', () => {
  it('make one chain without a broken link', async () => {
    const key = await newLog()
    await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        for (let round = 0; round < 5; round += 1) await writer.append(key, 1 + ((n + round) % 3))
      }),
    )
    const texts = await textsOf(key)
    expect((await digestOver(key)).body.digest).toBe(chainOf(key, texts).at(-1))
  })
})

describe('a database that is killed', () => {
  it('comes back with the chain of exactly the Events that it comes back with', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'berth-chain-'))
    await using own = new AsyncDisposableStack()
    own.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
    const server = await startEmbeddedPostgres({ dataDir, log: silentLog })
    own.defer(() => server.stop())
    const db = own.use(openDatabase({ connection: server.administration, log: silentLog, connections: 4 }))
    await migrate(db)
    const organizationId = randomUUID()
    const key = { organizationId, sessionId: randomUUID() }
    await db.query("insert into organizations (id, name, created_at) values ($1, 'a', now())", [organizationId])
    await db.query(
      `insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
       values ($1, $2, 'person', $1, '', 'a', now(), now())`,
      [organizationId, key.sessionId],
    )
    const append = (n: number) =>
      appendEvents(
        db,
        key,
        Array.from({ length: 1 + (n % 3) }, () => ({ type: 'svc.test', data: { n } })),
        new Date(),
      )
    let acknowledged = 0
    const writers = Array.from({ length: 4 }, async () => {
      for (let n = 0; ; n += 1) acknowledged = Math.max(acknowledged, (await append(n)) ?? 0)
    })
    await until('some appends', () => acknowledged >= 40)
    process.kill(server.pid, 'SIGKILL')
    await Promise.allSettled(writers)
    const after = await until('the database', () => append(0).catch(() => undefined))
    expect(after).toBeGreaterThan(acknowledged)
    const { rows } = await db.query<{ envelope: string }>({
      text: 'select envelope from events where session_id = $1 order by sequence',
      values: [key.sessionId],
    })
    expect(rows).toHaveLength(after ?? 0)
    const chain = chainOf(
      key,
      rows.map(({ envelope }) => envelope),
    )
    expect(await digestAt(db, key, null)).toMatchObject({ sequence: after, digest: chain.at(-1) })
  })
})

/** Changes a log as one who may do all: with the triggers off. */
async function asOwner(change: string, { sessionId }: SessionKey): Promise<void> {
  await test.db.database.transaction(async tx => {
    await tx.query("set local session_replication_role = 'replica'")
    await tx.query(change, [sessionId])
  })
}
