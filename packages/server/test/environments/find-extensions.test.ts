import { glob, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { extensionCatalog } from '../../src/composition/extension-catalog.ts'
import { findExtensions, shownOf } from '../../src/environments/extensions/find-extensions.ts'
import { UnpackedExtensions } from '../../src/environments/extensions/unpacked-extensions.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { FileBlobs } from '../../src/storage/blobs/file-blobs.ts'
import { extensionOf, sha256Of } from '../support/environments/zip.ts'
import { silentLog } from '../support/services/log.ts'
import { hostCache } from '../support/storage/host-cache.ts'

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
const find = (extensions: readonly { catalog?: string; archive?: string }[]) => {
  const catalog = extensionCatalog({ clock: systemClock, log: silentLog }, { dataDir, config })
  const unpacked = new UnpackedExtensions(hostCache(join(dataDir, 'unpacked-extensions')), dataDir)
  return findExtensions({ blobs, log: silentLog }, { catalog, unpacked }, { extensions: [...extensions] }, never)
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
})
