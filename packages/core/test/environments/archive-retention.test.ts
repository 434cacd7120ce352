import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { collectBlobs } from '@berth/platform/storage/blobs/collect-blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { uploadTo } from '@berth/testing/environments/archives.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { extensionOf } from '@berth/testing/environments/zip.ts'
import { keyOf, WorkerStandIn } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { letArchivesGo } from '../../src/environments/archives/retention.ts'
import { readNamedBlobs } from '../../src/housekeeping/named-blobs.ts'
import { insertLease } from '../../src/sessions/leases/lease-sql.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS

let test: TestService
let mine: Environments
let blobs: FileBlobs
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  mine = new Environments(test.api)
  blobs = await FileBlobs.open(join(test.dataDir, 'blobs'))
})
afterAll(() => test[Symbol.asyncDispose]())

/** The chore and the collector as they run after some time. */
async function after(ms: number): Promise<void> {
  const clock = { now: () => new Date(Date.now() + ms) }
  const { signal } = new AbortController()
  await letArchivesGo({ db: test.db.database, clock }, signal)
  const named = () => readNamedBlobs(test.db.database)
  await collectBlobs({ blobs, named, graceMs: HOUR_MS, clock, signal })
}

async function uploaded(name: string) {
  const environment = await mine.make()
  const content = extensionOf({ name })
  const sha256 = createHash('sha256').update(content).digest('hex')
  const again = () => uploadTo(test.api, environment.id, sha256, content)
  expect((await again()).status).toBe(201)
  const extensions = [{ archive: `sha256:${sha256}` }]
  const isOwned = async () => {
    const { rows } = await test.db.database.query('select 1 from environment_archives where sha256 = $1', [sha256])
    expect(await blobs.has(sha256)).toBe(rows.length > 0)
    return rows.length > 0
  }
  return { ...environment, extensions, again, isOwned }
}

/** Uploads an archive and names it in revision 2 and not in revision 3. */
async function replaced(name: string) {
  const made = await uploaded(name)
  const { id, document, extensions } = made
  expect((await mine.put(id, { ...document, extensions }, 1)).status).toBe(200)
  expect((await mine.put(id, document, 2)).status).toBe(200)
  return made
}

it('an archive that no revision names goes a day after its last upload', async () => {
  const { again, isOwned } = await uploaded('unnamed')
  await after(DAY_MS - HOUR_MS)
  expect(await isOwned()).toBe(true)
  await after(DAY_MS + HOUR_MS)
  expect(await isOwned()).toBe(false)
  expect((await again()).status).toBe(201)
  expect(await isOwned()).toBe(true)
})

it('an archive stays while the newest revision names it', async () => {
  const { id, document, extensions, isOwned } = await uploaded('named')
  await mine.put(id, { ...document, extensions }, 1)
  await after(400 * DAY_MS)
  await after(402 * DAY_MS)
  expect(await isOwned()).toBe(true)
})

/** Gives the environment so many newer revisions, all of an installation. */
async function age(id: string, revisions: number): Promise<void> {
  await test.db.database.query(
    `with old as (select * from environment_revisions where environment_id = $1 and revision = 3),
     made as (
       insert into environment_revisions (organization_id, environment_id, revision, document, secrets, created_by_kind,
         created_by_id, created_at)
       select organization_id, environment_id, 3 + n, document, secrets, created_by_kind, created_by_id, created_at
       from old, generate_series(1, $2::int) as n)
     update environments set revision = 3 + $2 where id = $1`,
    [id, revisions],
  )
}

it('one of the newest 50 revisions holds an archive however old it is, and one of the last 30 days beside it', async () => {
  const kept = await replaced('one of fifty')
  await age(kept.id, 48)
  const gone = await replaced('beyond fifty')
  await age(gone.id, 49)
  await after(30 * DAY_MS - HOUR_MS)
  await after(30 * DAY_MS - HOUR_MS / 2)
  expect([await kept.isOwned(), await gone.isOwned()]).toEqual([true, true])
  // Its day begins when the chore finds that the revision let go.
  await after(30 * DAY_MS + HOUR_MS)
  expect(await gone.isOwned()).toBe(true)
  await after(31 * DAY_MS + 2 * HOUR_MS)
  expect([await kept.isOwned(), await gone.isOwned()]).toEqual([true, false])
  const restored = await mine.restore(gone.id, 2, 52)
  expect(restored).toMatchObject({
    status: 400,
    body: { error: 'environment_invalid', issues: [{ path: ['document', 'extensions', 0, 'archive'] }] },
  })
  expect((await mine.restore(kept.id, 2, 51)).body.environment.archives).toHaveLength(1)
})

it('the revision that sets a live sandbox up holds an archive', async () => {
  const made = await replaced('of a sandbox')
  const session = await test.api.createSession({ runtime: 'shell' })
  await test.db.database.transaction(tx =>
    insertLease(tx, keyOf(session), {
      id: randomUUID(),
      driver: 'none',
      host: 'nowhere',
      runtime: 'shell',
      // bound: the lease is to be over
      idleMs: 1,
      // bound: the lease is to be over
      maxMs: 1,
      now: new Date(),
      environment: { id: made.id, revision: 2, secrets: [] },
    }),
  )
  await age(made.id, 60)
  await after(40 * DAY_MS)
  await after(42 * DAY_MS)
  expect(await made.isOwned()).toBe(true)
  await new WorkerStandIn(test.db.database).loseSandbox(session)
  await after(43 * DAY_MS)
  await after(45 * DAY_MS)
  expect(await made.isOwned()).toBe(false)
})

it('the newest revision that a person wrote holds an archive', async () => {
  const made = await replaced('of a person')
  await test.db.database.query(
    `update environment_revisions set created_by_kind = 'person' where environment_id = $1 and revision = 2`,
    [made.id],
  )
  await age(made.id, 60)
  await after(40 * DAY_MS)
  await after(42 * DAY_MS)
  expect(await made.isOwned()).toBe(true)
})
