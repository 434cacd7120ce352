import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isPublicAddress } from '@berth/platform/network/public-address.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { extensionOf, sha256Of, zipOf } from '@berth/testing/environments/zip.ts'
import { makeCertificate } from '@berth/testing/services/certificates.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CatalogOptions, ExtensionCatalog } from '../../src/environments/extensions/catalog.ts'
import { Downloads } from '../../src/environments/extensions/downloads.ts'

const release = (version: string, more: object = {}) => extensionOf({ id: 'a.tools', version, ...more })
const newer = { compat: { pluginApi: '>=2' } }

let test: TestService
let mine: Environments
beforeAll(async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'berth-catalog-'))
  const listed = join(elsewhere, 'listed.zip')
  await writeFile(listed, extensionOf({ id: 'other' }))
  test = await startTestService({
    variables: { BERTH_ROLES: 'api' },
    config: {
      extensions: {
        catalog: [
          { slug: 'by-path', path: listed },
          { slug: 'gone', path: `${elsewhere}/no` },
        ],
      },
    },
    async prepare(dataDir) {
      const at = join(dataDir, 'extensions')
      await mkdir(at)
      await writeFile(join(at, 'z.zip'), release('1.9.0'))
      await writeFile(join(at, 'a.zip'), release('1.10.0'))
      await writeFile(join(at, 'b.zip'), release('3.0.0', newer))
      await writeFile(join(at, 'c.zip'), extensionOf({ id: 'too-new', ...newer }))
      await writeFile(join(at, 'd.zip'), zipOf([{ name: '../slip', content: 'x' }]))
      await writeFile(join(at, 'README'), 'no archive')
    },
  })
  mine = new Environments(test.api)
})
afterAll(() => test[Symbol.asyncDispose]())

const tools = release('1.10.0')

describe('the catalog of extensions', () => {
  it('lists each at the highest version that this platform can run, and names one that is not there', async () => {
    const { status, body } = await test.api.get('/v1/extensions')
    expect([status, body]).toEqual([
      200,
      {
        extensions: [
          {
            slug: 'a-tools',
            id: 'a.tools',
            name: 'Tools',
            version: '1.10.0',
            sha256: sha256Of(tools),
            sizeBytes: tools.length,
            newest: '3.0.0',
          },
          expect.objectContaining({ slug: 'by-path', id: 'other', version: '1.2.3' }),
        ],
        missing: [{ slug: 'gone', reason: 'unavailable' }],
      },
    ])
  })

  it('lets documents name what it lists, and warns of a release that needs a newer platform', async () => {
    const made = await mine.make({ extensions: [{ catalog: 'by-path' }, { catalog: 'a-tools' }] })
    const path = ['document', 'extensions', 1]
    expect(made.warnings).toEqual([{ path, message: expect.stringContaining('3.0.0') }])
    for (const catalog of ['nobody', 'too-new', 'gone']) {
      const document = { ...made.document, extensions: [{ catalog }] }
      expect(await mine.put(made.id, document, 1)).toMatchObject({
        status: 400,
        body: { error: 'environment_invalid', issues: [{ path: ['document', 'extensions', 0, 'catalog'] }] },
      })
    }
  })

  it('is looked at anew, so a release needs no restart, and a restored revision must still be listed', async () => {
    const at = join(test.dataDir, 'extensions', 'late.zip')
    await writeFile(at, extensionOf({ id: 'late' }))
    const { id, document } = await mine.make({ extensions: [{ catalog: 'late' }] })
    expect((await mine.put(id, { ...document, extensions: [] }, 1)).status).toBe(200)
    await rm(at)
    expect(await mine.restore(id, 1, 2)).toMatchObject({ status: 400, body: { error: 'environment_invalid' } })
  })

  it('that cannot be read is unavailable only to those who need it', async () => {
    const at = join(test.dataDir, 'extensions')
    await rename(at, `${at}.away`)
    await writeFile(at, 'no directory')
    try {
      const error = 'cloud_extension_catalog_unavailable'
      const { status, body, headers } = await test.api.get('/v1/extensions')
      expect([status, headers.get('retry-after'), body]).toMatchObject([503, '2', { error }])
      const { id, document } = await mine.make()
      const named = { ...document, extensions: [{ catalog: 'a-tools' }] }
      expect(await mine.put(id, named, 1)).toMatchObject({ status: 503, body: { error } })
      expect((await mine.put(id, { ...document, setup: 'true' }, 1)).status).toBe(200)
      await rm(at)
      expect(await test.api.get('/v1/extensions')).toMatchObject({ status: 200, body: { extensions: [{}] } })
    } finally {
      await rename(`${at}.away`, at)
    }
  })
})

describe('an extension by URL', () => {
  const url = 'https://extensions.example.com/tools.zip'
  const sha256 = sha256Of(tools)
  let serve: RequestListener
  let requests: string[]
  let now: number
  let directory: string
  let network: ScriptedNetwork
  let stack: AsyncDisposableStack
  let catalogOf: (sources: CatalogOptions['sources'], waitMs?: number) => ExtensionCatalog
  beforeEach(async () => {
    stack = new AsyncDisposableStack()
    requests = []
    now = 0
    directory = await mkdtemp(join(tmpdir(), 'berth-downloads-'))
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    const certificate = makeCertificate('extensions.example.com')
    const server = createServer({ key: certificate.key, cert: certificate.cert }, (request, response) => {
      requests.push(request.url ?? '')
      void serve(request, response)
    })
    stack.defer(() => void server.close())
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    network = new ScriptedNetwork()
    network.names.set('extensions.example.com', ['93.184.216.34'])
    network.names.set('inside.example.com', ['10.0.0.1'])
    network.ports.set('93.184.216.34:443', (server.address() as AddressInfo).port)
    const reach = { network, mayDial: isPublicAddress, ca: certificate.ca }
    const clock = { now: () => new Date(now) }
    catalogOf = (sources, waitMs = 20_000) =>
      new ExtensionCatalog({
        directory: join(directory, 'none'),
        sources,
        downloads: new Downloads({ directory, named: new Set([sha256]), clock, log: silentLog, ...reach }),
        waitMs,
        spoolDirectory: directory,
        log: silentLog,
      })
  })
  afterEach(() => stack.disposeAsync())

  it('is fetched once from a public address, and must be what its digest says', async () => {
    serve = (_, response) => void response.end('tampered')
    const catalog = catalogOf([
      { slug: 'fetched', url, sha256 },
      { slug: 'inside', url: 'https://inside.example.com/tools.zip', sha256: '0'.repeat(64) },
    ])
    const inside = { slug: 'inside', reason: 'unavailable' }
    const neither = { extensions: [], missing: [{ slug: 'fetched', reason: 'unavailable' }, inside] }
    expect([await catalog.list(), await catalog.list(), requests.length]).toEqual([neither, neither, 1])
    serve = (_, response) => void response.end(tools)
    now += 60_000
    expect(await catalog.list()).toEqual({
      extensions: [expect.objectContaining({ slug: 'fetched', sha256, id: 'a.tools' })],
      missing: [inside],
    })
    expect(await catalog.find('fetched')).not.toBeNull()
    expect([requests.length, network.dialled]).toEqual([2, ['93.184.216.34:443', '93.184.216.34:443']])
    // What the configuration names no more goes after a day.
    for (const name of [`${'1'.repeat(64)}.zip`, '.new-of-a-dead-process'])
      await writeFile(join(directory, name), 'an old release')
    now = Date.now() + 23 * 60 * 60_000
    expect(await catalog.tidy()).toBe(0)
    now += 2 * 60 * 60_000
    expect(await catalog.tidy()).toBe(2)
    expect(await readdir(directory)).toEqual([`${sha256}.zip`])
  })

  it('is named while it is late, of many a few are fetched at once, and one that is looked for does not wait', async () => {
    const slugs = ['one', 'two', 'three', 'four', 'five', 'six']
    const archives = new Map(slugs.map(slug => [`/${slug}`, extensionOf({ id: slug })]))
    const released = Promise.withResolvers<void>()
    serve = async (request, response) => {
      await released.promise
      response.end(archives.get(request.url ?? ''))
    }
    const sources = [...archives].map(([path, archive]) => ({
      slug: path.slice(1),
      url: new URL(path, url).href,
      sha256: sha256Of(archive),
    }))
    const catalog = catalogOf(sources, 0)
    const late = { extensions: [], missing: slugs.map(slug => ({ slug, reason: 'late' })) }
    expect(await catalog.list()).toEqual(late)
    await until('the first requests', () => requests.length === 4)
    expect([await catalog.list(), requests.toSorted()]).toEqual([late, ['/four', '/one', '/three', '/two']])
    const found = catalog.find('six')
    await until('a request for the one', () => requests.includes('/six'))
    released.resolve()
    expect(await found).toMatchObject({ slug: 'six' })
    await until('all', async () => (await catalog.list()).extensions.length === slugs.length)
    expect(requests.toSorted()).toEqual([...archives.keys()].toSorted())
  })
})
