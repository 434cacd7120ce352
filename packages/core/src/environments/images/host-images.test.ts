import { chown, cp, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HostFull } from '@berth/platform/storage/host-cache.ts'
import { directoryTree } from '@berth/sandboxes/confined/directory-tree.ts'
import type { LowerOwner } from '@berth/sandboxes/driver.ts'
import { hostCache } from '@berth/testing/storage/host-cache.ts'
import { owners, TreeLab } from '@berth/testing/workspaces/trees.ts'
import { faultOf } from '@berth/worker/images/start-once.ts'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RestoreRefused } from '../../checkpoints/errors.ts'
import { digestOfTrees, HostImages } from './host-images.ts'
import type { SealedImage } from './image-sql.ts'

const never = new AbortController().signal

beforeAll(() => TreeLab.build())

describe('the images of a host', () => {
  const labs: TreeLab[] = []
  afterEach(() => {
    for (const lab of labs.splice(0)) lab[Symbol.dispose]()
  })

  async function opened(bytes = 2 ** 40) {
    const lab = await TreeLab.open(owners[0])
    labs.push(lab)
    const uid = lab.uid ?? process.getuid?.() ?? 0
    const owner: LowerOwner = {
      uid,
      tree: (path, baselines) => directoryTree(lab.tools, { path, uid }, baselines),
      layer: () => expect.unreachable(),
      lend: () => expect.unreachable(),
      run: () => expect.unreachable(),
    }
    let made = 0
    const seal = async (content: string): Promise<SealedImage> => {
      const name = `source-${made++}`
      lab.make(name, { 'node_modules/a': content, run: { content: '#!', mode: 0o750 } })
      lab.make(`${name}-home`, { '.config/x': content })
      const manifests = [await lab.sealed(name), await lab.sealed(`${name}-home`)].map(({ manifest }) =>
        manifest.toString(),
      )
      const [workspaceManifest = '', homeManifest = ''] = manifests
      return { workspaceManifest, homeManifest, digest: digestOfTrees(workspaceManifest, homeManifest) }
    }
    const dir = lab.path('images')
    return { lab, owner, dir, seal, images: new HostImages(hostCache(dir, { bytes }), lab.blobs) }
  }
  const age = async (dir: string) => {
    const old = new Date(Date.now() - 2 * 60 * 60_000)
    for (const name of await readdir(dir)) await utimes(join(dir, name), old, old)
  }

  it('are written from blobs once, whole, for the user of lower trees', async () => {
    const { lab, owner, dir, seal, images } = await opened()
    const image = await seal('content')
    const [first, second] = await Promise.all([
      images.provide(image, owner, never),
      images.provide(image, owner, never),
    ])
    expect(second).toEqual(first)
    expect(lab.list(`images/${image.digest}/workspace`)).toEqual(lab.list('source-0'))
    expect(lab.list(`images/${image.digest}/home`)).toEqual(lab.list('source-0-home'))
    const [workspace] = first.places.workspace ?? ['']
    expect((await stat(join(workspace, 'run'))).uid).toBe(owner.uid)
    const { ino } = await stat(workspace)
    await new HostImages(hostCache(dir, { bytes: 0 }), lab.blobs).provide(image, owner, never)
    expect((await stat(workspace)).ino).toBe(ino)
    expect(await readdir(dir)).toEqual([image.digest])
  })

  it('are not there at all if a blob is missing', async () => {
    const { lab, owner, dir, seal, images } = await opened()
    const image = await seal('content')
    await rm(lab.path('blobs'), { recursive: true })
    await mkdir(lab.path('blobs'))
    await expect(images.provide(image, owner, never)).rejects.toThrow(RestoreRefused)
    expect(await readdir(dir)).toEqual([])
  })

  it('go when they are gone from the store', async () => {
    const { owner, dir, seal, images } = await opened()
    const [known, gone] = await Promise.all(['a', 'b'].map(seal))
    if (!known || !gone) throw new Error('no images')
    for (const image of [known, gone]) await images.provide(image, owner, never)
    await age(dir)
    expect(await images.tidy(new Set([known.digest]), never)).toBe(1)
    expect(await readdir(dir)).toEqual([known.digest])
  })

  it('are refused without a byte written where their files would be too much, and nothing is said of them', async () => {
    const { owner, dir, seal, images } = await opened(20_000)
    const image = await seal('x'.repeat(10_000))
    await expect(images.provide(image, owner, never)).rejects.toThrow(HostFull)
    expect(await readdir(dir)).toEqual([])
    expect(faultOf(await images.provide(image, owner, never).catch(error => error))).toBe(null)
    expect(
      faultOf(new RestoreRefused('target_full', 'the disk of a sandbox is the host’s where it has no bound')),
    ).toBe(null)
  })

  it.each(['workspace', 'home'] as const)(
    'lend the baseline of their %s to the first seal of a sandbox',
    async tree => {
      const { lab, owner, dir, seal, images } = await opened()
      const image = await seal('content')
      const { baselines } = await images.provide(image, owner, never)
      const more = join(dir, image.digest, tree, 'more')
      await writeFile(more, 'more')
      await chown(more, owner.uid, owner.uid)
      const name = `images/${image.digest}/${tree}`
      await cp(baselines[tree] ?? '', lab.path('lease'), { recursive: true })
      const sealed = await lab.sealed(name, {
        tree: lab.tree(name, { baselines: 'lease' }),
        previous: Buffer.from(image[`${tree}Manifest`]),
      })
      expect(sealed.readBytes).toBe(4)
    },
  )
})
