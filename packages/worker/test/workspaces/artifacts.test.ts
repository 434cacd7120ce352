import { createHash, randomUUID } from 'node:crypto'
import type { Artifact, ArtifactPage, Session } from '@berth/contract'
import { keepArtifact } from '@berth/core/sessions/artifacts/keep-artifact.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { Api } from '@berth/testing/api/api.ts'
import { type EndedRun, endedRun, typesOf } from '@berth/testing/runs/ended-run.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let test: TestService
let blobs: FileBlobs
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  test = stack.use(await startTestService({ config: { runtimes } }))
  blobs = await FileBlobs.open(`${test.dataDir}/blobs`)
})
afterAll(() => stack.disposeAsync())

async function perform(script: string): Promise<EndedRun> {
  const session = await test.api.createSession({ runtime: 'scripted' }, script)
  return endedRun(test.api, session, session.activeRunId ?? '')
}

/** One message of 99 996 bytes, as long as nothing else comes between. */
const almost = 'count 18517'

const list = (session: Session, query = '', api = test.api) =>
  api.get<ArtifactPage>(`/v1/sessions/${session.id}/artifacts${query}`)

interface Content {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
}

async function content(
  session: Session,
  id: string,
  headers: Record<string, string> = {},
  key = test.api.key,
): Promise<Content> {
  const response = await fetch(`${test.url}/v1/sessions/${session.id}/artifacts/${id}/content`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

/** Stores a file as if a Run had presented it. */
async function present(session: Session, bytes: Buffer, name = 'report.bin', now = new Date()): Promise<string> {
  const blob = await blobs.put(bytes)
  const file = { runId: null, kind: 'presented_file', name, mediaType: 'text/html', ...blob } as const
  const { id } = await test.db.database.transaction(tx => keepArtifact(tx, keyOf(session), file, now))
  return id
}

describe("a run's result", () => {
  it('is an artifact, announced before the run ends', async () => {
    const ended = await perform('say first\ntool a\nsay the täglich answer')
    expect(typesOf(ended).slice(-2)).toEqual(['artifact.created', 'run.completed'])
    const [id = '', ...others] = ended.run.result?.artifactIds ?? []
    expect([ended.run.result?.summary, others]).toEqual(['the täglich answer', []])
    const sha256 = createHash('sha256').update('the täglich answer').digest('hex')
    const manifest = { kind: 'run_result', name: 'summary.md', mediaType: 'text/markdown', sizeBytes: 19, sha256 }
    expect(ended.events.at(-2)?.data).toEqual({ artifactId: id, ...manifest })
    const { body } = await test.api.get<{ artifact: Artifact }>(`/v1/sessions/${ended.session.id}/artifacts/${id}`)
    const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
    expect(body.artifact).toEqual({ id, sessionId: ended.session.id, runId: ended.run.id, ...manifest, createdAt })
    expect((await list(ended.session)).body).toEqual({
      artifacts: [body.artifact],
      nextCursor: expect.any(String),
      hasMore: false,
    })
    expect((await content(ended.session, id)).bytes.toString()).toBe('the täglich answer')
  })

  it('of exactly the cap is kept', async () => {
    const ended = await perform(`${almost}\nsay yyyy`)
    expect(ended.run.result?.summary).toHaveLength(100_000)
    const [id = ''] = ended.run.result?.artifactIds ?? []
    expect((await content(ended.session, id)).bytes).toHaveLength(100_000)
  })

  it.each([
    ["the agent's own", `stop end_turn {"berth":{"summary":"${'é'.repeat(50_001)}"}}`, 100_002],
    ["the agent's last message", `${almost}\nsay yyyyy`, 100_001],
  ])('over the cap, %s, is dropped whole with a note, and the run still succeeds', async (_, script, sizeBytes) => {
    const ended = await perform(script)
    expect(ended.run.status).toBe('completed')
    expect(ended.run.result).toBeUndefined()
    expect(ended.events.at(-2)).toMatchObject({
      type: 'svc.artifact.omitted',
      data: { kind: 'run_result', name: 'summary.md', sizeBytes, reason: 'over the cap of 100000 bytes' },
    })
    expect((await list(ended.session)).body.artifacts).toEqual([])
  })

  it('is absent if nothing was said', async () => {
    const ended = await perform('tool a')
    expect(ended.run.result).toBeUndefined()
    expect(typesOf(ended)).not.toContain('artifact.omitted')
  })
})

describe('the list of artifacts', () => {
  it('holds each once, oldest first, page by page, even those of one moment', async () => {
    const session = await test.api.createSession()
    const now = Date.now()
    const made: string[] = []
    for (const [n, at] of [now, now, now, now + 1, now + 2].entries()) {
      made.push(await present(session, Buffer.from(`${n}`), 'file', new Date(at)))
    }
    const seen: string[] = []
    let cursor = ''
    for (let pages = 0, more = true; more; pages += 1) {
      expect(pages).toBeLessThan(3)
      const { body } = await list(session, `?limit=2${cursor}`)
      seen.push(...body.artifacts.map(({ id }) => id))
      more = body.hasMore
      cursor = `&cursor=${encodeURIComponent(body.nextCursor ?? '')}`
    }
    expect(seen.toSorted()).toEqual(made.toSorted())
    expect(seen.slice(3)).toEqual(made.slice(3))
    expect((await list(session, `?limit=2${cursor}`)).body).toEqual({ artifacts: [], nextCursor: null, hasMore: false })
    // For another Session it is not a cursor; an empty page would look like the end of the list.
    const other = await test.api.createSession()
    expect(outcome(await list(other, `?limit=2${cursor}`))).toBe('400 invalid_request')
  })

  it.each(['?limit=0', '?limit=101', '?limit=a', '?cursor=nonsense', '?limit=1&limit=2', '?unknown=1'])(
    'refuses %s',
    async query => {
      const session = await test.api.createSession()
      expect(outcome(await list(session, query))).toBe('400 invalid_request')
    },
  )
})

describe('the content of an artifact', () => {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, n) => n % 251))

  it('is a download that no browser takes for anything else', async () => {
    const session = await test.api.createSession()
    const id = await present(session, bytes, '"><script>\r\nSet-Cookie: a=b\u202e täglich.html')
    const { status, headers, bytes: got } = await content(session, id)
    expect(status).toBe(200)
    expect(got.equals(bytes)).toBe(true)
    expect(headers.get('content-type')).toBe('application/octet-stream')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('etag')).toBe(`"${createHash('sha256').update(bytes).digest('hex')}"`)
    expect(headers.get('content-length')).toBe('1000')
    expect(headers.get('accept-ranges')).toBe('bytes')
    expect(headers.get('set-cookie')).toBeNull()
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+"; filename\*=UTF-8''[\w.~%-]+$/)
  })

  it('is not sent to a caller that has it', async () => {
    const session = await test.api.createSession()
    const id = await present(session, bytes)
    const etag = (await content(session, id)).headers.get('etag') ?? ''
    for (const known of [etag, `"other", W/${etag}`, '*']) {
      const answer = await content(session, id, { 'if-none-match': known })
      expect([answer.status, answer.bytes.length, answer.headers.get('etag')]).toEqual([304, 0, etag])
    }
    expect((await content(session, id, { 'if-none-match': '"other"' })).status).toBe(200)
    // The precondition is checked before the range.
    expect((await content(session, id, { 'if-none-match': etag, range: 'bytes=5000-' })).status).toBe(304)
  })

  it.each([
    ['bytes=0-0', 0, 1],
    ['bytes=990-', 990, 1000],
    ['bytes=-10', 990, 1000],
    ['bytes=500-5000', 500, 1000],
  ])('is sent in part for %s', async (range, start, end) => {
    const session = await test.api.createSession()
    const answer = await content(session, await present(session, bytes), { range })
    expect(answer.status).toBe(206)
    expect(answer.bytes.equals(bytes.subarray(start, end))).toBe(true)
    expect(answer.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/1000`)
    expect(answer.headers.get('content-length')).toBe(String(end - start))
  })

  it('has no part beyond its end', async () => {
    const session = await test.api.createSession()
    const answer = await content(session, await present(session, bytes), { range: 'bytes=1000-' })
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, 'bytes */1000'])
    expect(JSON.parse(answer.bytes.toString())).toEqual({ error: 'range_not_satisfiable' })
  })

  it('is sent in part only while it is the content that the caller began with', async () => {
    const session = await test.api.createSession()
    const id = await present(session, bytes)
    const etag = (await content(session, id)).headers.get('etag') ?? ''
    const part = { range: 'bytes=0-9' }
    expect((await content(session, id, { ...part, 'if-range': etag })).status).toBe(206)
    for (const other of ['"other"', `W/${etag}`, 'Sat, 21 Nov 2026 00:00:00 GMT']) {
      const answer = await content(session, id, { ...part, 'if-range': other })
      expect([answer.status, answer.bytes.length]).toEqual([200, 1000])
    }
  })

  it('of nothing is empty and has no part', async () => {
    const session = await test.api.createSession()
    const id = await present(session, Buffer.alloc(0))
    expect((await content(session, id)).bytes).toHaveLength(0)
    expect((await content(session, id, { range: 'bytes=0-' })).status).toBe(416)
  })
})

describe('artifacts', () => {
  it('belong to one session of one tenant, and nobody else sees them', async () => {
    const session = await test.api.createSession()
    const id = await present(session, Buffer.from('secret'))
    const other = await test.newTenant()
    const elsewhere = await test.api.createSession()
    const path = `/v1/sessions/${session.id}/artifacts`
    for (const [api, at] of [
      [other.api, path],
      [other.api, `${path}/${id}`],
      [other.api, `${path}/${id}/content`],
      [test.api, `/v1/sessions/${elsewhere.id}/artifacts/${id}`],
      [test.api, `/v1/sessions/${elsewhere.id}/artifacts/${id}/content`],
      [test.api, `${path}/${randomUUID()}`],
    ] as const) {
      expect(outcome(await api.get(at))).toBe('404 cloud_session_not_found')
    }
    expect(outcome(await new Api(test.url, 'svc_cloud_live_unknown').get(`${path}/${id}/content`))).toBe(
      '401 invalid_or_expired_credential',
    )
  })

  it('can be read after their session was archived', async () => {
    const session = await test.api.createSession()
    const id = await present(session, Buffer.from('kept'))
    expect((await test.api.call('DELETE', `/v1/sessions/${session.id}`)).status).toBe(204)
    expect((await list(session)).body.artifacts).toMatchObject([{ id }])
    expect((await content(session, id)).bytes.toString()).toBe('kept')
  })
})
