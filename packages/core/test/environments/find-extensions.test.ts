import { glob, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { extensionCatalog } from '@berth/server/composition/extension-catalog.ts'
import { extensionOf, sha256Of } from '@berth/testing/environments/zip.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { hostCache } from '@berth/testing/storage/host-cache.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findExtensions, shownOf } from '../../src/environments/extensions/find-extensions.ts'
import { TenantShares, type TenantSharesOptions } from '../../src/environments/extensions/tenant-shares.ts'
import { UnpackedExtensions } from '../../src/environments/extensions/unpacked-extensions.ts'

const config = { egress: { hosts: undefined, refuse: [] }, extensions: { catalog: [] } }

let dataDir: string
let blobs: FileBlobs
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-find-'))
  await mkdir(join(dataDir, 'extensions'))
  blobs = await FileBlobs.open(join(dataDir, 'blobs'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const never = new AbortController().signal
const sharesOf = (options: Partial<TenantSharesOptions> = {}) =>
  new TenantShares({
    cache: hostCache(join(dataDir, 'unpacked-extensions')),
    bytes: Number.POSITIVE_INFINITY,
    shownBy: () => Promise.resolve([]),
    clock: systemClock,
    ...options,
  })
const find = (
  extensions: readonly { catalog?: string; archive?: string }[],
  { shares = sharesOf(), organizationId = 'one', from = blobs as Blobs, signal = never } = {},
) => {
  const catalog = extensionCatalog({ clock: systemClock, log: silentLog }, { dataDir, config })
  const unpacked = new UnpackedExtensions(hostCache(join(dataDir, 'unpacked-extensions')), dataDir)
  const document = { organizationId, extensions: [...extensions] }
  return findExtensions({ blobs: from, log: silentLog }, { catalog, unpacked, shares }, document, signal)
}
const put = async (content: Buffer) => `sha256:${(await blobs.put(content)).sha256}`
const offer = (name: string, content: Buffer) => writeFile(join(dataDir, 'extensions', name), content)

describe('the extensions of a document', () => {
  it('keep its order, and one that cannot be had leaves the others', async () => {
    const [one, two] = [extensionOf({ id: 'one' }), extensionOf({ id: 'two' }, [{ name: 'mcp.json', content: '{' }])]
    const gone = `sha256:${'0'.repeat(64)}`
    const future = await put(extensionOf({ compat: { pluginApi: '^9' } }))
    await offer('two.zip', two)
    const found = await find([
      { catalog: 'two' },
      { archive: gone },
      { archive: await put(one) },
      { catalog: 'nobody' },
      { archive: future },
    ])
    expect(found.map(({ result }) => result)).toEqual([
      {
        ref: 'two',
        id: 'two',
        version: '1.2.3',
        sha256: sha256Of(two),
        state: 'active',
        reason: expect.stringContaining('mcp.json'),
      },
      { ref: gone, sha256: '0'.repeat(64), state: 'failed', reason: 'missing' },
      {
        ref: `sha256:${sha256Of(one)}`,
        id: 'one',
        version: '1.2.3',
        sha256: sha256Of(one),
        state: 'active',
      },
      { ref: 'nobody', state: 'failed', reason: 'missing' },
      { ref: future, sha256: future.slice(7), state: 'failed', reason: 'incompatible' },
    ])
    const shown = (id: string, archive: Buffer) => ({
      id,
      directory: join(dataDir, 'unpacked-extensions', sha256Of(archive), 'content'),
      content: `${sha256Of(archive)}-content`,
    })
    expect(shownOf(found)).toEqual([shown('two', two), shown('one', one)])
  })

  it('are those of the catalog at this moment, and the first of one id wins', async () => {
    const versions = ['1.0.0', '1.1.0'].map(version => extensionOf({ id: 'one', version }))
    await offer('a.zip', versions[0] ?? Buffer.of())
    const archive = await put(extensionOf({ id: 'one', version: '0.1.0' }))
    const states = async () =>
      (await find([{ catalog: 'one' }, { archive }])).map(({ result }) => [result.version, result.state, result.reason])
    expect(await states()).toEqual([
      ['1.0.0', 'active', undefined],
      ['0.1.0', 'failed', 'duplicate_id'],
    ])
    await offer('b.zip', versions[1] ?? Buffer.of())
    expect((await states())[0]).toEqual(['1.1.0', 'active', undefined])
  })

  it('whose blob is damaged is corrupt', async () => {
    const content = extensionOf({ id: 'one' })
    const archive = await put(content)
    const sha256 = sha256Of(content)
    for await (const name of glob(`**/*${sha256.slice(8)}*`, { cwd: join(dataDir, 'blobs') })) {
      const path = join(dataDir, 'blobs', name)
      await rm(path)
      await writeFile(path, Buffer.concat([content.subarray(0, -1), Buffer.of(0xff)]))
    }
    const [found] = await find([{ archive }])
    expect(found?.result).toMatchObject({ state: 'failed', reason: 'corrupt' })
  })

  it('of one organization leave room on the host for those of others', async () => {
    const digests = ['a', 'b', 'c', 'd'].map(name => name.repeat(64)) as [string, string, string, string]
    const [one, two, three, absent] = digests
    for (const digest of [one, two, three]) {
      await mkdir(join(dataDir, 'unpacked-extensions', digest), { recursive: true })
      await writeFile(join(dataDir, 'unpacked-extensions', digest, 'bytes'), '30000')
    }
    let now = 0
    let shown: string[] = []
    const shares = sharesOf({
      bytes: 70_000,
      clock: { now: () => new Date(now) },
      shownBy: organizationId => Promise.resolve(organizationId === 'greedy' ? shown : []),
    })
    await shares.take('greedy', one)
    await shares.take('greedy', two)
    await shares.take('greedy', one)
    await expect(shares.take('greedy', three)).rejects.toThrow('as many extensions')
    await shares.take('other', three)
    // One that is about to be unpacked may become as large as any.
    await expect(shares.take('other', absent)).rejects.toThrow('as many extensions')
    // What was asked for may go after a while, what sandboxes show may not.
    now += 11 * 60_000
    shown = [one, two]
    await expect(shares.take('greedy', three)).rejects.toThrow('as many extensions')
    await shares.take('greedy', two)
    shown = [one]
    await shares.take('greedy', two)
    shares.giveBack('greedy', two)
    await shares.take('greedy', three)
  })

  it('that are too many for an organization are told of, and leave the others', async () => {
    const archive = await put(extensionOf({ id: 'one' }))
    await offer('two.zip', extensionOf({ id: 'two' }))
    const found = await find([{ archive }, { catalog: 'two' }], { shares: sharesOf({ bytes: 1 }) })
    expect(found.map(({ result: { state, reason } }) => [state, reason])).toEqual([
      ['failed', 'sandboxes of the organization show as many extensions on this host as they may'],
      ['active', undefined],
    ])
  })

  it('that the store does not deliver in time are done without', async () => {
    const archive = await put(extensionOf())
    const stalled: Blobs = {
      put: content => blobs.put(content),
      get: () => Promise.reject(new DOMException('too late', 'TimeoutError')),
      stat: sha256 => blobs.stat(sha256),
      has: (sha256, sizeBytes) => blobs.has(sha256, sizeBytes),
      delete: sha256 => blobs.delete(sha256),
    }
    const [found] = await find([{ archive }], { from: stalled })
    expect(found?.result).toMatchObject({ state: 'failed', reason: 'it could not be unpacked in time' })
  })
})
