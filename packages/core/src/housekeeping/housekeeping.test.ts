import { randomUUID } from 'node:crypto'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, describe, expect, it, test } from 'vitest'
import { forgetBuckets } from '../identity/guard/forget-buckets.ts'
import { forgetRuntimeCredentials } from '../identity/runtime-credentials/forget-runtime-credentials.ts'
import { mintRuntimeCredential } from '../identity/runtime-credentials/runtime-credential.ts'
import { doChore } from './chore.ts'
import { readNamedBlobs } from './named-blobs.ts'

const made = await createTestDatabase()
afterAll(() => made[Symbol.asyncDispose]())

describe('a chore', () => {
  const at = (ms: number) => ({ now: () => new Date(ms) })

  it('is done by one of many, and again only when it is due', async () => {
    let done = 0
    const chore = {
      name: 'once',
      // bound: the test names every time
      intervalMs: 1000,
      work: async () => {
        done += 1
      },
    }
    const first = await Promise.all(['a', 'b', 'c'].map(holder => doChore(made.database, at(10_000), holder, chore)))
    expect(first.filter(Boolean)).toHaveLength(1)
    expect(await doChore(made.database, at(10_900), 'd', chore)).toBe(false)
    expect(await doChore(made.database, at(11_001), 'd', chore)).toBe(true)
    expect(done).toBe(2)
  })

  it('is left to other processes after a failure, once its hold lapses', async () => {
    // bound: the test names every time
    const failing = { name: 'fails', intervalMs: 1000, work: () => Promise.reject(new Error('no')) }
    await expect(doChore(made.database, at(10_000), 'a', failing)).rejects.toThrow('no')
    expect(await doChore(made.database, at(20_000), 'b', { ...failing, work: async () => {} })).toBe(false)
    expect(await doChore(made.database, at(70_001), 'b', { ...failing, work: async () => {} })).toBe(true)
  })
})

test('buckets unused for a day are removed, except those that a guard holds', async () => {
  const { database } = made
  const now = new Date('2026-01-03T00:00:00Z')
  await database.query(`
    insert into rate_buckets (key, tokens, refilled_at) values
      ('old', 0, '2026-01-01T00:00:00Z'), ('held', 0, '2026-01-01T00:00:00Z'), ('new', 0, '2026-01-02T12:00:00Z')`)
  const keys = async () =>
    (await database.query('select key from rate_buckets order by key')).rows.map(row => row['key'])
  const forget = () => forgetBuckets(database, now, AbortSignal.timeout(60_000))
  await database.transaction(async guard => {
    await guard.query("select 1 from rate_buckets where key = 'held' for update")
    expect(await forget()).toBe(1)
  })
  expect(await keys()).toEqual(['held', 'new'])
  expect([await forget(), await keys()]).toEqual([1, ['new']])
})

async function insertRun() {
  const { organizationId, installationId } = await createTenant(made.database)
  const [sessionId, runId] = [randomUUID(), randomUUID()]
  await made.database.query(
    `insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
     values ($1, $2, 'app_installation', $3, '', 't', now(), now())`,
    [organizationId, sessionId, installationId],
  )
  await made.database.query(
    `insert into runs (organization_id, session_id, id, turn_id, status, queued_at, due_at)
     values ($1, $2, $3, $3, 'queued', now(), now())`,
    [organizationId, sessionId, runId],
  )
  return { organizationId, installationId, sessionId, runId }
}

test('credentials of ended runs are removed', async () => {
  const { database } = made
  const run = await insertRun()
  await mintRuntimeCredential(database, run, new Date())
  const forget = () => forgetRuntimeCredentials(database, AbortSignal.timeout(60_000))
  expect(await forget()).toBe(0)
  await database.query("update runs set status = 'cancelled', ended_at = now() where id = $1", [run.runId])
  expect([await forget(), await forget()]).toEqual([1, 0])
})

describe('the blobs that rows name', () => {
  it('are those of turns and artifacts, and a reader may stop early', async () => {
    const { organizationId, installationId, sessionId, runId } = await insertRun()
    const digest = (letter: string) => letter.repeat(64)
    await made.database.query(
      `insert into turns (organization_id, session_id, id, sequence, run_id, request_hash, message, files, author_kind,
         author_id, created_at)
       values ($1, $2, $3, 0, $3, '', 'm', $4, 'app_installation', $5, now())`,
      [
        organizationId,
        sessionId,
        runId,
        JSON.stringify([{ sha256: digest('a') }, { sha256: digest('b') }]),
        installationId,
      ],
    )
    await made.database.query(
      `insert into artifacts (organization_id, session_id, id, kind, name, media_type, size_bytes, sha256, created_at)
       values ($1, $2, $3, 'run_result', 'n', 't', 0, $4, now())`,
      [organizationId, sessionId, randomUUID(), digest('c')],
    )
    const all = await Array.fromAsync(readNamedBlobs(made.database))
    expect(all.sort()).toEqual([digest('a'), digest('b'), digest('c')])
    for await (const sha256 of readNamedBlobs(made.database)) {
      expect(sha256).toHaveLength(64)
      break
    }
    expect(made.database.usage.waiting).toBe(0)
  })
})
