import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { request } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { capabilities, limits, type RuntimeReleaseProbe } from '@berth/contract'
import { readNamedBlobs } from '@berth/core/housekeeping/named-blobs.ts'
import { upsertProbe } from '@berth/core/releases/probe-sql.ts'
import { releaseChores } from '@berth/core/releases/release-chores.ts'
import { activateProbe, type EngineFetching } from '@berth/core/releases/release-probes.ts'
import type { ApiError } from '@berth/platform/kit/api-error.ts'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { isPublicAddress } from '@berth/platform/network/public-address.ts'
import { collectBlobs } from '@berth/platform/storage/blobs/collect-blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { personToken, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { makeCertificate } from '@berth/testing/services/certificates.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const HOUR_MS = 60 * 60_000
const certificate = makeCertificate('engines.example.com')
const url = 'https://engines.example.com/engine.cjs'

let test: TestService
let blobs: FileBlobs
let server: Server
let serve: RequestListener
let fetches = 0
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  blobs = await FileBlobs.open(join(test.dataDir, 'blobs'))
  server = createServer(certificate, (incoming, response) => {
    fetches += 1
    serve(incoming, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await test[Symbol.asyncDispose]()
})

const release = () => randomBytes(20).toString('hex')
const sha256Of = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')
const pathOf = (releaseSha: string) => `/v1/runtime-release-probe/${releaseSha}`

/** An installation of its own, so that no test meets another's probe. */
async function newInstallation() {
  const { organizationId, appSlug } = test.tenant
  const made = await createInstallation(test.db.database, organizationId, appSlug)
  return { ...made, api: new Api(test.url, made.apiKey) }
}

async function upload(api: Api, releaseSha: string, content: string | Buffer<ArrayBuffer> | ReadableStream) {
  const response = await fetch(`${test.url}${pathOf(releaseSha)}/engine`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/octet-stream' },
    body: content,
    ...(content instanceof ReadableStream && { duplex: 'half' }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
}

/** Uploads an engine and activates it. */
async function activate(api: Api, releaseSha: string, content: string, more: object = {}) {
  await upload(api, releaseSha, content)
  return api.put<{ probe: RuntimeReleaseProbe }>(pathOf(releaseSha), { engine: { sha256: sha256Of(content) }, ...more })
}

const activeProbe = async (api: Api) =>
  (await api.get<{ probe: RuntimeReleaseProbe | null }>('/v1/runtime-release-probe')).body.probe

async function named(): Promise<string[]> {
  const all: string[] = []
  for await (const sha256 of readNamedBlobs(test.db.database)) all.push(sha256)
  return all
}

describe('a probe', () => {
  it('stands once its engine was uploaded, and for an hour unless said otherwise', async () => {
    const { api } = await newInstallation()
    const [sha, content] = [release(), 'the engine']
    expect(await activeProbe(api)).toBeNull()
    expect(await upload(api, sha, content)).toEqual({
      status: 200,
      body: { engine: { sha256: sha256Of(content), sizeBytes: content.length } },
    })
    expect(await activeProbe(api)).toBeNull()
    const answer = await api.put<{ probe: RuntimeReleaseProbe }>(pathOf(sha), { engine: { sha256: sha256Of(content) } })
    expect(answer.status).toBe(200)
    const { probe } = answer.body
    expect(probe).toMatchObject({ releaseSha: sha, engine: { sha256: sha256Of(content) } })
    expect(Date.parse(probe.expiresAt) - Date.parse(probe.activatedAt)).toBe(HOUR_MS)
    expect(await activeProbe(api)).toEqual(probe)
  })

  it('is answered as it is to the same request again, and takes a new deadline', async () => {
    const { api } = await newInstallation()
    const [sha, content] = [release(), 'the engine']
    const { probe } = (await activate(api, sha, content)).body
    const same = { engine: { sha256: sha256Of(content) } }
    expect((await api.put(pathOf(sha), same)).body).toEqual({ probe })
    expect((await api.put(pathOf(sha), { ...same, expiresAt: null })).body).toEqual({ probe })
    const expiresAt = new Date(Date.now() + 5 * HOUR_MS).toISOString()
    expect((await api.put(pathOf(sha), { ...same, expiresAt })).body).toEqual({ probe: { ...probe, expiresAt } })
    expect((await api.put(pathOf(sha), same)).body).toEqual({ probe: { ...probe, expiresAt } })
  })

  it('keeps its engine: another one for the same release is a conflict, from both operations', async () => {
    const { api } = await newInstallation()
    const sha = release()
    await activate(api, sha, 'the engine')
    const other = await upload(api, sha, 'another engine')
    expect(other).toEqual({ status: 409, body: { error: 'runtime_release_conflict' } })
    const put = await api.put(pathOf(sha), { engine: { sha256: sha256Of('another engine') } })
    expect(outcome(put)).toBe('409 runtime_release_conflict')
    expect((await upload(api, sha, 'the engine')).status).toBe(200)
  })

  it('gives way to another release, which a late deletion of the first leaves alone', async () => {
    const { api } = await newInstallation()
    const [first, second] = [release(), release()]
    await activate(api, first, 'one')
    await activate(api, second, 'two')
    expect((await api.call('DELETE', pathOf(first))).status).toBe(204)
    expect(await activeProbe(api)).toMatchObject({ releaseSha: second })
    expect((await api.call('DELETE', pathOf(second))).status).toBe(204)
    expect((await api.call('DELETE', pathOf(second))).status).toBe(204)
    expect(await activeProbe(api)).toBeNull()
  })

  it('is decided once if engines race for one release', async () => {
    const { installationId } = await newInstallation()
    const now = new Date()
    const releaseRequest = {
      installationId,
      releaseSha: release(),
      expiresAt: null,
      defaultExpiresAt: new Date(now.getTime() + 1),
    }
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        upsertProbe(test.db.database, { ...releaseRequest, engineSha256: sha256Of(`engine ${n}`) }, now),
      ),
    )
    expect(answers.filter(answer => answer !== null)).toHaveLength(1)
  })

  it('belongs to one installation: neither a sibling nor another tenant sees, uses or ends it', async () => {
    const [own, sibling] = [await newInstallation(), await newInstallation()]
    const stranger = (await test.newTenant()).api
    const [sha, content] = [release(), 'a secret engine']
    const { probe } = (await activate(own.api, sha, content)).body
    for (const other of [sibling.api, stranger]) {
      expect(await activeProbe(other)).toBeNull()
      expect((await other.call('DELETE', pathOf(sha))).status).toBe(204)
      // Knowing the digest of stored bytes does not make them one's own.
      const taken = await other.put(pathOf(sha), { engine: { sha256: sha256Of(content) } })
      expect([taken.status, taken.body['issues']]).toMatchObject([400, [{ path: ['engine', 'sha256'] }]])
      await activate(other, sha, 'their engine')
    }
    expect(await activeProbe(own.api)).toEqual(probe)
  })

  it('is for installations with the capability alone', async () => {
    const signer = await startSigner(test.db.database, test.service.settings.urls.authUrl)
    const person = await signInPerson(test.db.database, test.tenant.organizationId, { role: 'admin' })
    const asPerson = new Api(test.url, await personToken(signer.mint, person))
    const without = await createInstallation(
      test.db.database,
      test.tenant.organizationId,
      test.tenant.appSlug,
      capabilities.filter(held => held !== 'svc.cloud.runtime-releases:probe'),
    )
    const body = { engine: { sha256: 'a'.repeat(64) } }
    for (const [api, expected] of [
      [asPerson, '403 installation_principal_required'],
      [new Api(test.url, without.apiKey), '403 insufficient_scope'],
      [new Api(test.url, 'svc_cloud_live_unknown'), '401 invalid_or_expired_credential'],
    ] as const) {
      expect(outcome(await api.get('/v1/runtime-release-probe'))).toBe(expected)
      expect(outcome(await api.put(pathOf(release()), body))).toBe(expected)
      expect(outcome(await api.call('DELETE', pathOf(release())))).toBe(expected)
      const refused = await upload(api, release(), 'a')
      expect(`${refused.status} ${refused.body.error}`).toBe(expected)
    }
  })

  it.each([
    ['a release of another length', 'a'.repeat(41), {}, '400 invalid_path_parameter'],
    ['a release in upper case', 'A'.repeat(40), {}, '400 invalid_path_parameter'],
    ['no engine', 'a'.repeat(40), { engine: undefined }, '400 invalid_request'],
    ['no digest', 'a'.repeat(40), { engine: {} }, '400 invalid_request'],
    ['a further member', 'a'.repeat(40), { a: 1 }, '400 invalid_request'],
    ['a deadline that has passed', 'a'.repeat(40), { expiresAt: '2020-01-01T00:00:00Z' }, '400 invalid_request'],
    ['a deadline too far ahead', 'a'.repeat(40), { expiresAt: '2999-01-01T00:00:00Z' }, '400 invalid_request'],
    ['a deadline that is no instant', 'a'.repeat(40), { expiresAt: 'tomorrow' }, '400 invalid_request'],
    ['an engine that was never uploaded', 'a'.repeat(40), {}, '400 invalid_request'],
    [
      'a private URL',
      'a'.repeat(40),
      { engine: { sha256: 'a'.repeat(64), url: 'https://[::1]/' } },
      '400 invalid_request',
    ],
  ])('with %s is refused', async (_, sha, changed, expected) => {
    const { api } = await newInstallation()
    const body = { engine: { sha256: 'a'.repeat(64) }, ...changed }
    expect(outcome(await api.put(pathOf(sha), body))).toBe(expected)
    expect(await activeProbe(api)).toBeNull()
  })
})

describe('an upload', () => {
  it('of exactly 64 MiB is stored, and one byte more is refused, with or without a length', async () => {
    const { api } = await newInstallation()
    const sha = release()
    const full = Buffer.alloc(limits.engineBytes, 'a')
    expect(await upload(api, sha, full)).toMatchObject({
      status: 200,
      body: { engine: { sha256: sha256Of(full), sizeBytes: limits.engineBytes } },
    })
    const over = Buffer.concat([full, Buffer.from('a')])
    const refused = { status: 413, body: { error: 'request_entity_too_large' } }
    expect(await upload(api, sha, over)).toEqual(refused)
    expect(await upload(api, sha, new Blob([over]).stream())).toEqual(refused)
    // The upload before it is still there.
    expect((await api.put(pathOf(sha), { engine: { sha256: sha256Of(full) } })).status).toBe(200)
  })

  it('that breaks off leaves nothing', async () => {
    const { api } = await newInstallation()
    const sha = release()
    const outgoing = request(`${test.url}${pathOf(sha)}/engine`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${api.key}`,
        'content-type': 'application/octet-stream',
        'content-length': 100,
      },
    })
    const closed = Promise.withResolvers<void>()
    outgoing.on('error', () => undefined).on('close', closed.resolve)
    const before = await Array.fromAsync(blobs.list())
    outgoing.write('half', () => outgoing.destroy())
    await closed.promise
    const half = await api.put(pathOf(sha), { engine: { sha256: sha256Of('half') } })
    expect(outcome(half)).toBe('400 invalid_request')
    expect(await Array.fromAsync(blobs.list())).toEqual(before)
  })

  it('needs its media type, and content', async () => {
    const { api } = await newInstallation()
    const json = await api.put(`${pathOf(release())}/engine`, {})
    expect(outcome(json)).toBe('415 unsupported_media_type')
    expect((await upload(api, release(), '')).status).toBe(400)
  })

  it('beyond the fourth replaces the oldest', async () => {
    const { api } = await newInstallation()
    const releases = Array.from({ length: 5 }, release)
    for (const [index, sha] of releases.entries()) await upload(api, sha, `engine ${index}`)
    const put = (index: number) =>
      api.put(pathOf(releases[index] ?? ''), { engine: { sha256: sha256Of(`engine ${index}`) } })
    expect([outcome(await put(0)), outcome(await put(1))]).toEqual(['400 invalid_request', '200'])
  })
})

describe('an engine by URL', () => {
  const dialled: string[] = []
  const fetching = (more: Partial<EngineFetching> = {}): EngineFetching => ({
    network: {
      ...openNetwork(),
      resolve: async () => ['93.184.216.34'],
      dial(address, _, signal) {
        dialled.push(address)
        return openNetwork().dial('127.0.0.1', (server.address() as AddressInfo).port, signal)
      },
    },
    mayDial: isPublicAddress,
    ca: certificate.ca,
    ...more,
  })
  const context = () => ({ db: test.db.database, blobs, clock: { now: () => new Date() } })

  /** Activates by URL, and returns the issues of a refusal. */
  async function byUrl(content: string, more: Partial<EngineFetching> = {}, installationId?: string) {
    const id = installationId ?? (await newInstallation()).installationId
    const sha = release()
    const probe = { engine: { sha256: sha256Of(content), url } }
    const issues = await activateProbe(context(), fetching(more), id, sha, probe).then(
      () => null,
      (error: ApiError) => error.fields['issues'],
    )
    return { sha, issues, stored: (await blobs.stat(sha256Of(content))) !== undefined }
  }

  it('is fetched once, verified and stored before the answer; a replay fetches nothing', async () => {
    const { api, installationId } = await newInstallation()
    serve = (_, response) => void response.end('fetched engine')
    fetches = 0
    const { sha, issues, stored } = await byUrl('fetched engine', {}, installationId)
    expect([issues, stored, fetches]).toEqual([null, true, 1])
    const body = { engine: { sha256: sha256Of('fetched engine'), url } }
    await activateProbe(context(), fetching(), installationId, sha, body)
    expect([fetches, (await activeProbe(api))?.releaseSha]).toEqual([1, sha])
  })

  it.each<[string, RequestListener, Partial<EngineFetching>, string]>([
    ['of another digest', (_, response) => void response.end('tampered'), {}, 'sha256'],
    ['behind a redirect', (_, r) => void r.writeHead(302, { location: 'https://127.0.0.1/' }).end(), {}, 'url'],
    ['that is too large', (_, response) => void response.end('a'.repeat(101)), { maxBytes: 100 }, 'url'],
    ['that is not there', (_, response) => void response.writeHead(404).end(), {}, 'url'],
    ['at an address that is not public', () => undefined, { mayDial: () => false }, 'url'],
    // bound: it is to be over
    ['that does not come in time', () => undefined, { timeoutMs: 50 }, 'url'],
  ])('%s is refused, and nothing is stored or stands', async (_, listener, more, member) => {
    serve = listener
    const { api, installationId } = await newInstallation()
    const { issues, stored } = await byUrl(`wanted ${member} ${JSON.stringify(more)}`, more, installationId)
    expect([issues, stored]).toMatchObject([[{ path: ['engine', member] }], false])
    expect(await activeProbe(api)).toBeNull()
  })
})

describe('the collector of blobs', () => {
  it('keeps the engine of a probe and of an upload, and takes both once they have expired', async () => {
    const { api, installationId } = await newInstallation()
    const [sha, content] = [release(), 'a collected engine']
    await activate(api, sha, content)
    await upload(api, release(), 'an uploaded engine')
    expect(await named()).toEqual(expect.arrayContaining([sha256Of(content), sha256Of('an uploaded engine')]))
    const later = { now: () => new Date(Date.now() + 2 * HOUR_MS) }
    const collect = () =>
      collectBlobs({
        blobs,
        named: () => readNamedBlobs(test.db.database),
        graceMs: HOUR_MS,
        clock: later,
        signal: new AbortController().signal,
      })
    await collect()
    expect(await blobs.has(sha256Of(content))).toBe(true)
    await test.db.database.query(
      `with p as (update runtime_release_probes set expires_at = now() where installation_id = $1)
       update runtime_release_engines set uploaded_at = 'epoch' where installation_id = $1`,
      [installationId],
    )
    expect(await activeProbe(api)).toBeNull()
    const [chore] = releaseChores({
      db: test.db.database,
      clock: { now: () => new Date() },
      log: pino({ level: 'silent' }),
    })
    await chore?.work(new AbortController().signal)
    await collect()
    expect(await blobs.has(sha256Of(content))).toBe(false)
    // The same release may be tried again.
    expect((await activate(api, sha, content)).status).toBe(200)
    expect(await blobs.has(sha256Of(content))).toBe(true)
  })
})
