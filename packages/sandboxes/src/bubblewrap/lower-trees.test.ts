import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { workspaceLimits } from '@berth/core/checkpoints/limits.ts'
import { sealTree } from '@berth/core/checkpoints/seal-tree.ts'
import { until } from '@berth/testing/until.ts'
import { listingOf, TreeLab } from '@berth/testing/workspaces/trees.ts'
import { afterEach, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { type LowerTrees, SandboxGoneError, type SandboxSpec } from '../driver.ts'
import { mountsBelow } from '../linux/unmount-below.ts'
import { treeOf } from '../tree.ts'
import { createBubblewrapDriver } from './create-driver.ts'
import { type BubblewrapOptions, defaultBounds } from './options.ts'

const root = join(import.meta.dirname, '../../../..')
const bounds = { ...defaultBounds, memoryBytes: 256 * 1024 ** 2, processes: 80, cpus: 1, diskBytes: 64 * 1024 ** 2 }
const privileged = process.getuid?.() === 0
const helperBounds = { memoryBytes: 1024 ** 3, cpuSeconds: 20, fileBytes: 1024 ** 3 }
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

beforeAll(() => TreeLab.build())

describe('a sandbox with lower trees', () => {
  const clean: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const one of clean.splice(0).toReversed()) await one()
  })

  /** Opens a driver and names lower trees. As root it has to show them, so that their loss fails a test. */
  async function opened({ skip }: TestContext, changes: Partial<BubblewrapOptions> = {}) {
    const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'berth, lower:')))
    clean.push(() => rm(dataDir, { recursive: true, force: true }))
    const bundlesDir = join(root, 'packages/supervisor/dist')
    const options = { dataDir, nodePath: process.execPath, bundlesDir, bounds, log, spares: 1, ...changes }
    const driver = await createBubblewrapDriver(options)
    clean.push(() => driver[Symbol.asyncDispose]())
    clean.push(async () => {
      for (const leaseId of await driver.list()) await driver.destroy(leaseId)
    })
    const [support] = driver.describe().filter(line => line.startsWith('prebuilt trees'))
    skip(!privileged, support)
    expect(support).toBe('prebuilt trees: below each sandbox, copied on write')
    const lab = await TreeLab.open(driver.lowerOwner()?.uid)
    clean.push(async () => lab[Symbol.dispose]())
    const baselines = { workspace: lab.path('workspace.baselines'), home: lab.path('home.baselines') }
    for (const directory of Object.values(baselines)) await mkdir(directory)
    const places = { workspace: [lab.path('workspace')], home: [lab.path('home')] } as const
    const lower: LowerTrees = { places, baselines }
    return { driver, dataDir, lab, lower, options }
  }

  const specOf = (leaseId: string, lower: LowerTrees, script: string): SandboxSpec => {
    // The marker lies on the lease's own disk.
    const command = [
      'bash',
      '-c',
      `(${script}) > /tmp/out 2>&1; echo $? > /tmp/code.new; mv /tmp/code.new /tmp/code; exec sleep 100`,
    ]
    return { leaseId, command, bounds, mounts: [], egress: { reach: [] }, lower }
  }

  /** Runs a script as the first process of a sandbox, and returns its output. */
  async function run({ driver, dataDir, lower }: Awaited<ReturnType<typeof opened>>, leaseId: string, script: string) {
    await driver.create(specOf(leaseId, lower, script))
    const tmp = join(dataDir, 'leases', leaseId, 'disk/files/tmp')
    await until('the script ended', () => existsSync(join(tmp, 'code')))
    return { code: (await readFile(join(tmp, 'code'), 'utf8')).trim(), out: await readFile(join(tmp, 'out'), 'utf8') }
  }

  it('owns what it finds, changes it for itself alone, and renames directories', async context => {
    const subject = await opened(context)
    const { lab } = subject
    lab.make('workspace', { 'node_modules/a/index.js': 'lower', 'node_modules/a/run': { content: '#!', mode: 0o750 } })
    lab.make('home', { '.config/file': 'of the home' })
    const before = listingOf(lab.path('workspace'))
    const script = `
      set -e; cat ~/.config/file; stat -c %U /workspace/node_modules/a/run; id -un
      cd /workspace; mv node_modules/a node_modules/.a-Xy12; mv node_modules/.a-Xy12 b
      python3 -c 'import os; os.rename("b", "c")' 2>/dev/null || perl -e 'rename "b", "c" or die $!'
      echo changed >> c/index.js; chmod 700 c/run; rm -r node_modules; cat c/index.js`
    expect(await run(subject, 'one', script)).toEqual({ code: '0', out: 'of the homeagent\nagent\nlowerchanged\n' })
    expect(listingOf(lab.path('workspace'))).toEqual(before)
    const other = await run(subject, 'other', 'cat /workspace/node_modules/a/index.js; ls -A /workspace')
    expect(other.out).toBe('lower.berth\nnode_modules\n')
    const workspace = join(subject.dataDir, 'leases/one/disk/files/workspace')
    expect(readFileSync(join(workspace, 'c/index.js'), 'utf8')).toBe('lowerchanged\n')
  })

  it('shows up to three layers as its project, and excludes them from the layers of a workspace', async context => {
    const subject = await opened(context)
    const { lab, driver } = subject
    lab.make('base', { 'lib/a': 'base', 'lib/b': 'base', 'lib/c': 'base', top: 'base' })
    lab.make('middle', { 'lib/b': 'middle' })
    lab.make('newest', { 'lib/c': 'newest', '.git/HEAD': 'ref' })
    const layers = [lab.path('newest'), lab.path('middle'), lab.path('base')] as const
    const lower: LowerTrees = { places: { project: layers }, baselines: {} }
    const before = layers.map(listingOf)
    const script = `
      set -e; cd /workspace/project; cat lib/a lib/b lib/c .git/HEAD; mv lib moved; echo own > moved/c; rm -r .git top
      cat moved/*; ls -A; stat -c %U . moved/a; echo; ls -A /workspace`
    expect(await run({ ...subject, lower }, 'stacked', script)).toEqual({
      code: '0',
      out: 'basemiddlenewestrefbasemiddleown\nmoved\nagent\nagent\n\n.berth\nproject\n',
    })
    expect(layers.map(listingOf)).toEqual(before)
    const refused = (places: LowerTrees['places']) => driver.create(specOf('no', { places, baselines: {} }, ':'))
    await expect(refused({ project: layers, workspace: layers })).rejects.toThrow('not both')
    await expect(refused({ project: [...layers, lab.path('base')] })).rejects.toThrow('at most 3 layers')
    await expect(refused({ project: ['relative'] })).rejects.toThrow('absolute')
  })

  it.for(['loop', 'poll'] as const)('leaves no mount and no disk behind (%s)', async (disk, context) => {
    const subject = await opened(context, { disk })
    const { lab, dataDir, options } = subject
    lab.make('workspace', { file: 'x' })
    lab.make('home', {})
    await run(subject, 'kept', 'echo y > /workspace/file')
    expect((await mountsBelow(join(dataDir, 'leases'))).length).toBeGreaterThan(1)
    // Another process destroys it.
    await subject.driver[Symbol.asyncDispose]()
    const next = await createBubblewrapDriver({ ...options, spares: 0 })
    clean.push(() => next[Symbol.asyncDispose]())
    await next.destroy('kept')
    expect(await mountsBelow(dataDir)).toEqual([])
    expect(execFileSync('losetup', ['-a'], { encoding: 'utf8' })).not.toContain(dataDir)
    expect(readFileSync(join(lab.path('workspace'), 'file'), 'utf8')).toBe('x')
  })

  it('removes a spare with mounts that a dead process left', async context => {
    const { dataDir, options } = await opened(context)
    const torn = join(dataDir, 'blanks', '999999999-1-probe-torn')
    await mkdir(join(torn, 'disk/files'), { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(torn, 'disk/files')])
    await writeFile(join(torn, 'disk/files/x'), '')
    await (await createBubblewrapDriver({ ...options, spares: 0 }))[Symbol.asyncDispose]()
    expect(existsSync(torn)).toBe(false)
  })

  it('is gone for its programs once an overlay is not mounted any more, and no empty tree is sealed', async context => {
    const subject = await opened(context, { disk: 'poll' })
    const { dataDir, driver, lab } = subject
    lab.make('base', { file: 'x' })
    lab.make('home', {})
    const places = { project: [lab.path('base')], home: [lab.path('home')] } as const
    await run({ ...subject, lower: { places, baselines: {} } }, 'one', 'echo y > /workspace/project/file')
    const seal = (tree: 'workspace' | 'home') =>
      sealTree({ tree: treeOf(driver, 'one', tree), blobs: lab.blobs, limits: workspaceLimits, skip: ['.berth'] })
    expect(await seal('workspace')).toMatchObject({ kind: 'sealed', files: 1 })
    // As a restart of the host does, which leaves the directories of a disk that is a part of the host's.
    const files = join(dataDir, 'leases/one/disk/files')
    for (const path of ['workspace/project', 'home']) execFileSync('umount', ['-l', join(files, path)])
    for (const tree of ['workspace', 'home'] as const) await expect(seal(tree)).rejects.toThrow(SandboxGoneError)
    const script = { kind: 'script', script: 'true', environment: {}, readsAll: false, bounds: helperBounds } as const
    await expect(driver.run('one', { ...script, trees: { workspace: 'read' } })).rejects.toThrow(SandboxGoneError)
  })

  it('keeps changes within the bound of its disk', async context => {
    const subject = await opened(context)
    subject.lab.make('workspace', { big: Buffer.alloc(80 * 1024 ** 2, 'x') })
    subject.lab.make('home', {})
    const ran = await run(subject, 'full', 'wc -c < /workspace/big; echo x >> /workspace/big')
    expect(ran.out).toMatch(/^83886080\n.*No space left/s)
    expect(ran.code).not.toBe('0')
  })

  it('is sealed like any other, and a baseline of the lower tree finds all that is unchanged', async context => {
    const subject = await opened(context)
    const { dataDir, lab, driver } = subject
    lab.make('source', {
      'src/one': 'first content',
      'src/two': { content: 'second content', mode: 0o600 },
      linked: { content: 'shared', mode: 0o644 },
      'z/also': { hardLink: 'linked' },
      gone: 'gone',
      link: { link: 'src/one' },
    })
    const image = await lab.sealed('source')
    await lab.restore(image.manifest, 'workspace')
    lab.make('source-home', { '.config/tool': 'content of a home' })
    const homeOfImage = await lab.sealed('source-home')
    await lab.restore(homeOfImage.manifest, 'home')
    const script =
      'set -e; cd /workspace; rm gone; mkdir new; for n in 1 2 3; do echo $n > new/$n; ln new/$n new/l$n; done'
    expect(await run(subject, 'sealed', script)).toEqual({ code: '0', out: '' })
    const sealed = await sealTree({
      tree: treeOf(driver, 'sealed', 'workspace'),
      blobs: lab.blobs,
      limits: workspaceLimits,
      previous: image.manifest,
      skip: ['.berth'],
    })
    if (sealed.kind !== 'sealed') throw new Error('over a cap')
    // Only the new files were read.
    expect(sealed.readBytes).toBe(6)
    const home = { tree: treeOf(driver, 'sealed', 'home'), blobs: lab.blobs, limits: workspaceLimits }
    expect(await sealTree({ ...home, previous: homeOfImage.manifest })).toMatchObject({ readBytes: 0, files: 1 })
    await lab.restore(sealed.manifest, 'elsewhere')
    const seen = listingOf(join(dataDir, 'leases/sealed/disk/files/workspace'))
    const { '.berth': _, ...rest } = seen
    expect(listingOf(lab.path('elsewhere'))).toEqual(rest)
    expect(readFileSync(lab.path('elsewhere/z/also'), 'utf8')).toBe('shared')
  })

  it('is refused where lower trees cannot be shown, and the driver says why', async ({ skip }) => {
    skip(privileged, 'as root they can')
    const dataDir = await mkdtemp(join(tmpdir(), 'berth-lower-'))
    clean.push(() => rm(dataDir, { recursive: true, force: true }))
    const bundlesDir = join(root, 'packages/supervisor/dist')
    const driver = await createBubblewrapDriver({ dataDir, nodePath: process.execPath, bundlesDir, bounds, log })
    clean.push(() => driver[Symbol.asyncDispose]())
    expect(driver.lowerOwner()).toBeNull()
    expect(driver.describe()).toContain('prebuilt trees: copied into each sandbox (only root can mount them)')
  })
})
