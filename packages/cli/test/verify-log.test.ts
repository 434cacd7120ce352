import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createClient } from '@berth/client'
import { LogWriter, startTestService, type TestService } from '@berth/testing/testing.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventTexts } from '../src/commands/event-texts.ts'
import { parseKept, verifyLog } from '../src/commands/verify-log.ts'

type Key = { readonly organizationId: string; readonly sessionId: string }

const stack = new AsyncDisposableStack()
let test: TestService
let writer: LogWriter
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  writer = stack.use(await LogWriter.open(test.db))
})
afterAll(() => stack.disposeAsync())

/** Makes a log of 130 Events: one by one, then by threes, then many at once. */
async function newLog(): Promise<Key> {
  const { id: sessionId, organizationId } = await test.api.createSession()
  const key = { organizationId, sessionId }
  const append = (count: number) => writer.append(key, count, { text: 'a "quoted" {brace} \\ 🚢' })
  for (let n = 0; n < 10; n += 1) await append(1)
  for (let n = 0; n < 10; n += 1) await append(3)
  await append(90)
  return key
}

const verify = ({ sessionId }: Key, kept?: string) =>
  verifyLog(
    createClient({ baseUrl: test.url, credential: test.tenant.apiKey }),
    sessionId,
    kept ? parseKept(kept) : null,
  )

/** Changes a log straight in the database, as one for whom no right and no trigger counts. */
const tamper = ({ sessionId }: Key, ...changes: readonly string[]) =>
  test.db.database.transaction(async tx => {
    await tx.query("set local session_replication_role = 'replica'")
    for (const change of changes) {
      const { rowCount } = await tx.query(change.replaceAll('$log', `session_id = '${sessionId}'`))
      expect(rowCount).toBeGreaterThan(0)
    }
  })

const moveUp = (from: number) => [
  `update events set sequence = sequence + 1000 where $log and sequence >= ${from}`,
  `update events set sequence = sequence - 999, envelope = replace(envelope, '"sequence":' || sequence - 1000,
     '"sequence":' || sequence - 999) where $log and sequence > 1000`,
]
const inserted = (at: number) =>
  `insert into events (organization_id, session_id, sequence, type, envelope)
   select organization_id, session_id, ${at}, type, replace(envelope, '"sequence":1,', '"sequence":${at},')
   from events where $log and sequence = 1`

describe('a log', () => {
  it('is verified, and goes on to be once it has grown', async () => {
    const key = await newLog()
    const first = await verify(key)
    expect(first).toMatchObject({ verified: true, beginsAt: 1, lastSequence: 130 })
    await writer.append(key, 7)
    expect(await verify(key, `130:${first.digest}`)).toMatchObject({ verified: true, lastSequence: 137 })
  })

  it.each<readonly [string, readonly string[], string]>([
    [
      'a byte of an Event',
      [`update events set envelope = replace(envelope, '🚢', '🚣') where $log and sequence = 4`],
      'breaks at event 4:',
    ],
    [
      'a space that changes no value',
      [`update events set envelope = replace(envelope, ',"data"', ', "data"') where $log and sequence = 7`],
      'breaks at event 7:',
    ],
    [
      'an Event among three',
      [`update events set envelope = replace(envelope, '🚢', '') where $log and sequence = 15`],
      'breaks at event 16:',
    ],
    [
      'the newest Event',
      [`update events set envelope = replace(envelope, '🚢', '') where $log and sequence = 130`],
      'breaks at event 130:',
    ],
    [
      'the digest of the newest Event',
      [`update events set digest = sha256('x') where $log and sequence = 130`],
      'breaks at event 130:',
    ],
    ['a removed Event', ['delete from events where $log and sequence = 5'], 'event 5 is missing'],
    ['a removed newest Event', ['delete from events where $log and sequence = 130'], 'is missing'],
    [
      'two that were swapped',
      [
        'update events set sequence = 1000 where $log and sequence = 5',
        'update events set sequence = 5 where $log and sequence = 6',
        'update events set sequence = 6 where $log and sequence = 1000',
      ],
      'event 5 is missing or moved',
    ],
    [
      'two whose texts were swapped with their numbers',
      [
        `update events e set envelope = replace(replace(o.envelope, '"sequence":' || o.sequence || ',', '"sequence":' || e.sequence || ','), '"number"', '"number"')
       from events o where e.session_id = o.session_id and e.$log and e.sequence in (5, 6) and o.sequence = 11 - e.sequence`,
      ],
      'breaks at event 5:',
    ],
    ['an inserted Event, all behind it renumbered', [...moveUp(8), inserted(8)], 'breaks at event 9:'],
    ['an Event that was inserted at the end', [inserted(131)], 'beyond its newest'],
  ])('%s is found', async (_, changes, fault) => {
    // Nobody has read it: a page that was read a moment ago is answered as it was.
    const key = await newLog()
    await tamper(key, ...changes)
    expect(await verify(key)).toMatchObject({ verified: false, fault: expect.stringContaining(fault) })
  })

  it('whose end was cut off with its digest is found by a digest that was kept', async () => {
    const key = await newLog()
    const { digest } = await verify(key)
    await tamper(
      key,
      'delete from events where $log and sequence > 10',
      `update sessions set last_event_sequence = 10, log_digest = (select digest from events where $log and sequence = 10)
       where id = '${key.sessionId}'`,
    )
    expect((await verify(key)).verified).toBe(true)
    expect(await verify(key, `130:${digest}`)).toMatchObject({ verified: false, fault: expect.stringContaining('130') })
    await writer.append(key, 120)
    expect((await verify(key)).verified).toBe(true)
    expect(await verify(key, `130:${digest}`)).toMatchObject({
      verified: false,
      fault: 'an event up to 130 is not what it was when the digest was made',
    })
  })

  it('that lies in the blob store is verified, and a changed page with all its digests is found', async () => {
    const key = await newLog()
    await test.db.database.query("update sessions set archived_at = now() - interval '2 days' where id = $1", [
      key.sessionId,
    ])
    const page = async (texts: string) => {
      const bytes = gzipSync(texts)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const path = join(test.dataDir, 'blobs', sha256.slice(0, 2), sha256.slice(2))
      await mkdir(dirname(path), { recursive: true })
      writeFileSync(path, bytes)
      return { sha256, size: bytes.length, text: createHash('sha256').update(texts).digest('hex') }
    }
    const { rows } = await test.db.database.query<{ texts: string }>(
      `select string_agg(envelope, E'\\n' order by sequence) as texts from events where session_id = $1 and sequence < 130`,
      [key.sessionId],
    )
    const texts = rows[0]?.texts ?? ''
    const sealed = await page(texts)
    await test.db.database.query('select seal_events($1, $2, 129, $3, $4, $5)', [
      key.organizationId,
      key.sessionId,
      sealed.sha256,
      sealed.size,
      sealed.text,
    ])
    expect(await verify(key)).toMatchObject({ verified: true, lastSequence: 130 })
    const other = await page(texts.replace('🚢', '🚣'))
    await tamper(
      key,
      `update event_pages set sha256 = '${other.sha256}', size_bytes = ${other.size}, text_sha256 = '${other.text}' where $log`,
    )
    expect(await verify(key)).toMatchObject({ verified: false, fault: expect.stringMatching(/breaks at event \d+:/) })
  })

  it('that is older than chains says where its chain begins', async () => {
    const key = await newLog()
    await tamper(
      key,
      'update events set digest = null where $log',
      `update sessions set log_digest = null, chain_begins = null where id = '${key.sessionId}'`,
    )
    expect(await verify(key)).toMatchObject({ verified: false, beginsAt: null })
    await writer.append(key, 2)
    expect(await verify(key)).toMatchObject({ verified: true, beginsAt: 131, lastSequence: 132 })
  })
})

it('takes the texts of a page as they are', () => {
  const texts = ['{"a":"}\\"{","b":[{"c":{}}]}', '{"sequence": 2 }']
  expect(eventTexts(`{"events":[${texts.join(',')}],"lastSequence":2}`)).toEqual(texts)
  expect(eventTexts('{"events":[],"lastSequence":0}')).toEqual([])
  expect(() => eventTexts('{}')).toThrow('no page')
})
