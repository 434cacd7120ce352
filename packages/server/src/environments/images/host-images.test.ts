import { execFileSync } from 'node:child_process'
import { chown, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { owners, TreeLab } from '../../../test/support/workspaces/trees.ts'
import { RestoreRefused } from '../../checkpoints/errors.ts'
import { digestOfTrees, HostImages } from './host-images.ts'
import type { SealedImage } from './image-sql.ts'

beforeAll(() => TreeLab.build())

describe('the images of a host', () => {
  const labs: TreeLab[] = []
  afterEach(() => {
    for (const lab of labs.splice(0)) lab[Symbol.dispose]()
  })

  async function opened(bytes = 2 ** 40) {
    const lab = await TreeLab.open(owners[0])
    labs.push(lab)
    const owner = { uid: lab.uid ?? process.getuid?.() ?? 0, program: lab.program }
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
    return { lab, owner, dir, seal, images: new HostImages(dir, lab.blobs, bytes) }
  }
  const age = async (dir: string) => {
    const old = new Date(Date.now() - 2 * 60 * 60_000)
    for (const name of await readdir(dir)) await utimes(join(dir, name), old, old)
  }
  const never = new AbortController().signal
  const shows =
    (...digests: readonly string[]) =>
    async () =>
      new Set(digests)

  it('are written from blobs once, whole, for the user of lower trees', async () => {
    const { lab, owner, dir, seal, images } = await opened()
    const image = await seal('content')
    const [first, second] = await Promise.all([images.provide(image, owner), images.provide(image, owner)])
    expect(second).toEqual(first)
    expect(lab.look(`images/${image.digest}/workspace`)).toEqual(lab.look('source-0'))
    expect(lab.look(`images/${image.digest}/home`)).toEqual(lab.look('source-0-home'))
    expect((await stat(join(first.workspace, 'run'))).uid).toBe(owner.uid)
    const { ino } = await stat(first.workspace)
    await new HostImages(dir, lab.blobs, 0).provide(image, owner)
    expect((await stat(first.workspace)).ino).toBe(ino)
    expect(await readdir(dir)).toEqual([image.digest])
  })

  it('are not there at all if a blob is missing', async () => {
    const { lab, owner, dir, seal, images } = await opened()
    const image = await seal('content')
    await rm(lab.path('blobs'), { recursive: true })
    await mkdir(lab.path('blobs'))
    await expect(images.provide(image, owner)).rejects.toThrow(RestoreRefused)
    expect(await readdir(dir)).toEqual([])
  })

  it('stay while a sandbox shows them or may be about to, and go when they are gone or too many', async () => {
    const { lab, owner, dir, seal, images } = await opened(1)
    const [shown, idle, gone, recent] = await Promise.all(['a', 'b', 'c', 'd'].map(seal))
    if (!shown || !idle || !gone || !recent) throw new Error('no images')
    for (const image of [shown, idle, gone]) await images.provide(image, owner)
    execFileSync('mkdir', ['-p', join(dir, 'new-of-a-dead-process/workspace')])
    await age(dir)
    await images.provide(recent, owner)
    const known = new Set([shown.digest, idle.digest, recent.digest])
    const roomy = new HostImages(dir, lab.blobs, 2 ** 40)
    expect(await roomy.tidy({ known, shown: shows(shown.digest) }, never)).toBe(2)
    expect((await readdir(dir)).toSorted()).toEqual([...known].toSorted())
    expect(await images.tidy({ known, shown: shows(shown.digest) }, never)).toBe(1)
    expect((await readdir(dir)).toSorted()).toEqual([shown.digest, recent.digest].toSorted())
    expect(await images.tidy({ known: new Set(), shown: shows(shown.digest) }, never)).toBe(0)
  })

  it('lend their baseline to the first seal of a sandbox', async () => {
    const { lab, owner, dir, seal, images } = await opened()
    const image = await seal('content')
    await images.provide(image, owner)
    const place = lab.place(`images/${image.digest}/workspace`)
    const trees = { workspace: place, home: place, baselines: lab.path('lease'), program: lab.program }
    await images.shareBaseline(image, trees)
    const more = join(dir, image.digest, 'workspace', 'more')
    await writeFile(more, 'more')
    await chown(more, owner.uid, owner.uid)
    const sealed = await lab.sealed(`images/${image.digest}/workspace`, {
      baselines: lab.path('lease/workspace'),
      previous: Buffer.from(image.workspaceManifest),
    })
    expect(sealed.readBytes).toBe(4)
    expect(sealed.files).toBe(3)
  })
})
