import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { LogDigest } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { LogWriter, storedLog } from '@berth/testing/events/log-writer.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

const digestOver = (API: { sessionId: string }, at?: number) =>
  test.api.get<LogDigest>(`/v1/sessions/${API.sessionId}/events/digest${at === undefined ? '' : `?at=${at}`}`)

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
const saidOf = async (key: SessionKey, through: number, from = 1) => {
  const said: (string | null)[] = []
  for (let at = from; at <= through; at += 1) said.push((await digestOver(key, at)).body.digest)
  return said
}

describe('the digest of a log', () => {
  it('is that of each Event behind the one before, however they were appended', async () => {
    const key = await newLog()
    await writer.append(key)
    await writer.append(key, 4, { text: 'ünï\u2028 "x"\n\\ 🚢' })
    await writer.append(key)
    await writer.append(key, 2)
    expect(await saidOf(key, 8)).toEqual(chainOf(key, await textsOf(key)))
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
      await tx.query("update sessions set log_digest = sha256('x') where id = $1", [key.sessionId])
      expect(await digestAt(tx, key, 2)).toEqual(before)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await digestAt(test.db.database, key, null)).toEqual(before)
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
    expect(await saidOf(key, 6)).toEqual([null, null, null, ...chain])
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

/** Changes a log as one who may do all: with the triggers off. */
async function asOwner(change: string, { sessionId }: SessionKey): Promise<void> {
  await test.db.database.transaction(async tx => {
    await tx.query("set local session_replication_role = 'replica'")
    await tx.query(change, [sessionId])
  })
}
