import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SealedTree } from '@berth/core/checkpoints/seal-tree.ts'
import { changesOf, overlaidLease, overlayUsers } from '@berth/testing/workspaces/overlaid-lease.ts'
import { type Entry, TreeLab } from '@berth/testing/workspaces/trees.ts'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { directoryTree } from '../confined/directory-tree.ts'
import { unmountBelow } from '../linux/unmount-below.ts'
import { layerTree } from './files/layer-above.ts'

const privileged = process.getuid?.() === 0

beforeAll(() => TreeLab.build())

/** A workspace with a project over two layers, in which an agent's user works, and seals of it in both ways. */
class Overlaid implements AsyncDisposable {
  readonly lab: TreeLab
  readonly run: (script: string) => void
  readonly #lease: Awaited<ReturnType<typeof overlaidLease>>
  #previous: Uint8Array = Buffer.alloc(0)

  private constructor(lab: TreeLab, lease: Awaited<ReturnType<typeof overlaidLease>>) {
    this.lab = lab
    this.run = script => lease.run(script)
    this.#lease = lease
  }

  static async open(more: Readonly<Record<string, Entry>> = {}): Promise<Overlaid> {
    const lab = await TreeLab.open(overlayUsers.onDisk)
    const base = {
      ...{ 'a/one': '1', 'a/b/two': '22', 'a/b/c/three': '333', 'd/b/four': '4444', 'e/__pycache__/x': 'x', top: 't' },
      ...{ 'p/in/file': 'of p', 'q/in/file': 'of q', ...more },
    }
    lab.make('lower', Object.fromEntries(Object.entries(base).map(([path, entry]) => [`project/${path}`, entry])))
    const same = ['p/in', 'q/in'].map(path => lab.path(join('lower/project', path)))
    execFileSync('touch', ['-d', '@1000000000', ...same])
    lab.make('upmost', { 'project/a/b/newer': 'newer', 'project/link': { link: 'a/one' } })
    // Its times are those that the layers show together.
    for (const path of ['a', 'a/b', '.'])
      execFileSync('touch', ['-r', ...['lower', 'upmost'].map(layer => lab.path(join(layer, 'project', path)))])
    const project = [lab.path('upmost/project'), lab.path('lower/project')] as const
    const overlaid = new Overlaid(lab, await overlaidLease(lab.path('lease'), project))
    // Of the layers themselves, as that of a checkout: it holds for every lease that shows them.
    mkdirSync(lab.path('base'))
    const layers = ['upmost', 'lower'].map(layer => lab.path(layer))
    const place = { directory: lab.path('base'), layers, baselines: lab.path('baselines-read') }
    overlaid.#previous = (
      await lab.sealed('', { tree: await layerTree(lab.tools, overlayUsers.onDisk, place) })
    ).manifest
    return overlaid
  }

  #tree(baselines: string, isListed: boolean) {
    const { files, overlay } = this.#lease
    const place = { path: files.workspace, uid: overlayUsers.shown, ...(isListed && { overlay }) }
    return directoryTree(this.lab.tools, place, this.lab.path(`baselines-${baselines}`))
  }

  /** Seals by the list of the upper layer, and by a walk of everything, from the same baseline. */
  async sealed(): Promise<{ readonly listed: SealedTree; readonly walked: SealedTree }> {
    const { lab } = this
    cpSync(lab.path('baselines-read'), lab.path('baselines-walked'), { recursive: true, force: true })
    const options = { previous: this.#previous, skip: ['.berth'] }
    const walked = await lab.sealed('lease', { ...options, tree: this.#tree('walked', false) })
    const listed = await lab.sealed('lease', { ...options, tree: this.#tree('read', true) })
    this.#previous = listed.manifest
    return { listed, walked }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await unmountBelow(this.lab.dir)
    this.lab[Symbol.dispose]()
  }
}

const paths = 'a a/b a/b/c a/b/c/three a/b/newer a/one d d/b e e/__pycache__ top link n n/m p q'.split(' ')
const path = fc.constantFrom('beside', 'project/a/beside', ...paths.map(one => `project/${one}`))
const lines = `echo more >> $1
  rm -rf $1
  mkdir -p $1
  chmod 700 $1
  touch -d @1000000 $1
  mkfifo $1
  rm -rf $1; mkdir $1
  mv -T $1 $2
  cp -aT $1 $2
  ln $1 $2
  ln -s $1 $2
  rm -rf $2; mv -T $1 $2`

describe.skipIf(!privileged)('a seal by the upper layer', () => {
  it('is byte for byte what a walk of the whole tree gives, whatever changed between seals', async () => {
    const round = fc.array(changesOf(lines, path), { maxLength: 6 })
    const check = fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async rounds => {
      await using overlaid = await Overlaid.open()
      for (const steps of rounds) {
        overlaid.run(steps.join('\n'))
        const { listed, walked } = await overlaid.sealed()
        const { readBytes: _, ...ofListed } = listed
        const { readBytes: __, ...ofWalked } = walked
        expect(ofListed).toEqual(ofWalked)
      }
    })
    await fc.assert(check, { numRuns: 12 })
  })

  it('looks at no file of the lower layers that nothing covers', async () => {
    await using overlaid = await Overlaid.open()
    // Nobody may do this; it shows which files are looked at.
    appendFileSync(overlaid.lab.path('lower/project/d/b/four'), 'changed below')
    overlaid.run('echo more > project/a/one')
    const { listed, walked } = await overlaid.sealed()
    expect([listed.readBytes, walked.readBytes]).toEqual([5, 5 + '4444changed below'.length])
  })

  it('walks everything if a directory was renamed to where another was, whose times are the same', async () => {
    await using overlaid = await Overlaid.open()
    overlaid.run('rm -r project/p; mv project/q project/p')
    const { listed, walked } = await overlaid.sealed()
    expect(listed.manifest).toEqual(walked.manifest)
  })

  it('walks everything if the lower layers hold hard links, which a change divides', async () => {
    await using overlaid = await Overlaid.open({ 'd/b/also': { hardLink: 'project/a/one' } })
    overlaid.run('echo more > project/a/one')
    const { listed, walked } = await overlaid.sealed()
    expect(listed.manifest).toEqual(walked.manifest)
    expect(listed.links).toBe(1)
  })
})
