import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { workspaceLimits } from '@berth/core/checkpoints/limits.ts'
import { sealTree } from '@berth/core/checkpoints/seal-tree.ts'
import { until } from '@berth/testing/until.ts'
import { listingOf, TreeLab } from '@berth/testing/workspaces/trees.ts'
import { afterEach, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import type { SandboxSpec } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { instanceOf } from '../linux/instance.ts'
import { mountsBelow } from '../linux/unmount-below.ts'
import { treeOf } from '../tree.ts'
import { type BubblewrapDriver, createBubblewrapDriver } from './create-driver.ts'
import { type BubblewrapOptions, defaultBounds } from './options.ts'
import { markedProcesses } from './processes/marked-processes.ts'

const bundlesDir = join(import.meta.dirname, '../../../../packages/supervisor/dist')
const bounds = { ...defaultBounds, memoryBytes: 256 * 1024 ** 2, processes: 80, cpus: 1, diskBytes: 64 * 1024 ** 2 }
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const supervisor = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`]
/** An agent that runs the scripts it is sent. */
const agentCommand = ['bash', '-c', 'while read -r line; do eval "$line"; echo; done']
const env = { PATH: '/usr/bin:/bin' }
const agent = { command: agentCommand, env, cwd: insidePaths.workspace, line: ':' }
const pool = { least: 2, most: 2, command: supervisor, agent }
const privileged = process.getuid?.() === 0
const supported = 'checkouts: mounted into sandboxes that stand ready'

beforeAll(() => TreeLab.build())

describe('a sandbox that stands ready', () => {
  const clean: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const one of clean.splice(0).toReversed()) await one()
  })

  async function opened({ skip }: TestContext, changes: Partial<BubblewrapOptions> = {}) {
    skip(!privileged, 'only root can mount trees')
    const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'berth, late:')))
    clean.push(() => rm(dataDir, { recursive: true, force: true }))
    const objects = join(dataDir, 'mirror/objects')
    await mkdir(objects, { recursive: true })
    await writeFile(join(objects, 'pack'), 'packed')
    const plain = { dataDir, nodePath: process.execPath, bundlesDir, bounds, spares: 0, pool }
    const options: BubblewrapOptions = { ...plain, log, objects: () => objects, ...changes }
    const lab = await TreeLab.open(options.uidBase ?? 199_999)
    clean.push(async () => lab[Symbol.dispose]())
    const tree = lab.path('workspace/project')
    lab.make('workspace', { 'project/src/file': 'lower', 'project/.git/HEAD': 'ref' })
    await mkdir(lab.path('baselines'))
    const lower = { places: { project: [tree] }, baselines: { workspace: lab.path('baselines') } } as const
    return { options, plain, dataDir, lab, lower, objects, driver: await open(options) }
  }

  async function open(options: BubblewrapOptions): Promise<BubblewrapDriver> {
    const driver = await createBubblewrapDriver(options)
    clean.push(() => driver[Symbol.asyncDispose]())
    clean.push(async () => {
      for (const leaseId of await driver.list()) await driver.destroy(leaseId)
    })
    await driver.prepared()
    return driver
  }

  const specOf = (leaseId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec => ({
    ...{ leaseId, command: supervisor, bounds, mounts: [], egress: { reach: [] } },
    ...changes,
  })

  /** Has the agent of a lease run a script of one line. @returns what it printed */
  async function ran(driver: BubblewrapDriver, dataDir: string, leaseId: string, script: string): Promise<string> {
    const socket = await driver.attach(leaseId)
    const send = (message: object) => socket.write(`${JSON.stringify(message)}\n`)
    send({ hello: { fence: 1, from: 0 } })
    send({ start: { key: 'start/1', command: agentCommand, env, cwd: insidePaths.workspace } })
    send({ in: { key: 'initialize/1', line: `(${script}) > /tmp/out 2>&1; mv /tmp/out /tmp/done` } })
    socket.resume()
    const done = join(dataDir, 'leases', leaseId, 'disk/files/tmp/done')
    await until('the script ended', () => existsSync(done))
    socket.destroy()
    return readFileSync(done, 'utf8')
  }

  const marks = async ({ dataDir }: Pick<BubblewrapOptions, 'dataDir'>) =>
    new Set((await markedProcesses(instanceOf(dataDir).tag)).map(({ leaseId }) => leaseId))

  async function expectNothingLeft(dataDir: string): Promise<void> {
    expect(await mountsBelow(dataDir)).toEqual([])
    expect(execFileSync('losetup', ['-a'], { encoding: 'utf8' })).not.toContain(dataDir)
  }

  it.for(['loop', 'poll'] as const)(
    'gets its project and its objects at once, and no other does (%s)',
    async (disk, context) => {
      const { options, dataDir, lab, lower, objects, driver } = await opened(context, { disk })
      expect(driver.describe()).toContain(supported)
      const ready = await marks(options)
      const before = listingOf(lab.path('workspace'))
      await driver.create(specOf('late', { lower, objects: 'mirror' }))
      expect((await marks(options)).isSubsetOf(ready)).toBe(true)
      const script = `cd project; cat src/file ${insidePaths.objects}/pack; mv src moved; echo own > moved/file; rm -r .git; stat -c %U . moved; touch ${insidePaths.objects}/x; grep -c 'project .*nosuid,nodev' /proc/self/mountinfo; tail -n 2 /proc/self/mountinfo | grep -c 'objects ro,nosuid,nodev'`
      expect(await ran(driver, dataDir, 'late', script)).toMatch(
        /^lowerpackedagent\nagent\ntouch: .*Read-only file system\n1\n1\n$/,
      )
      await driver.create(specOf('plain'))
      expect(await ran(driver, dataDir, 'plain', `ls -A /workspace ${insidePaths.objects}`)).not.toMatch(/project|pack/)
      expect(listingOf(lab.path('workspace'))).toEqual(before)
      expect(await readdir(objects)).toEqual(['pack'])
      // Another process finds, freezes and destroys it.
      await driver[Symbol.asyncDispose]()
      const next = await open({ ...options, pool: { ...pool, least: 1 } })
      await next.freeze('late')
      expect(await next.thaw('late')).toBe(true)
      await next.create(specOf('second', { lower }))
      expect(await ran(next, dataDir, 'second', 'cat project/src/file')).toBe('lower')
      for (const leaseId of ['late', 'plain', 'second']) await next.destroy(leaseId)
      await next[Symbol.asyncDispose]()
      await expectNothingLeft(dataDir)
      expect(listingOf(lab.path('workspace'))).toEqual(before)
    },
  )

  it('is sealed with its project, by the baseline of a workspace that holds only that', async context => {
    const { lab, dataDir, driver } = await opened(context)
    lab.make('source', { 'project/src/one': 'first', 'project/src/two': 'second', 'project/gone': 'gone' })
    const kept = await lab.sealed('source')
    await lab.restore(kept.manifest, 'kept')
    const baselines = { workspace: lab.path('kept.baselines') }
    await driver.create(specOf('sealed', { lower: { places: { project: [lab.path('kept/project')] }, baselines } }))
    await ran(driver, dataDir, 'sealed', 'cd project; rm gone; mkdir new; echo 1 > new/1; echo beside > ../beside')
    const tree = treeOf(driver, 'sealed', 'workspace')
    const options = { tree, blobs: lab.blobs, limits: workspaceLimits, skip: ['.berth'] }
    const sealed = await sealTree({ ...options, previous: kept.manifest })
    if (sealed.kind !== 'sealed') throw new Error('over a cap')
    expect(sealed.readBytes).toBe('1\nbeside\n'.length)
    await lab.restore(sealed.manifest, 'elsewhere')
    const { '.berth': _, ...seen } = listingOf(join(dataDir, 'leases/sealed/disk/files/workspace'))
    expect(listingOf(lab.path('elsewhere'))).toEqual(seen)
  })

  it('is left alone if a tree would cover its workspace, or cannot be mounted, which leaves nothing behind', async context => {
    const { options, lab, lower, driver } = await opened(context)
    const ready = await marks(options)
    await driver.create(specOf('whole', { lower: { places: { workspace: lower.places.project }, baselines: {} } }))
    expect((await marks(options)).isSupersetOf(ready)).toBe(true)
    const missing = { places: { project: [lab.path('missing')] }, baselines: {} } as const
    await expect(driver.create(specOf('missing', { lower: missing }))).rejects.toThrow('open_tree')
    expect(await driver.list()).toEqual(['whole'])
  })

  it('is left alone on a host whose mounts do not appear in sandboxes that run', async context => {
    context.skip(!privileged, 'only root can mount trees')
    const folder = await mkdtemp(join(tmpdir(), 'berth-private-'))
    clean.push(() => rm(folder, { recursive: true }))
    const bwrap = join(folder, 'bwrap')
    await writeFile(bwrap, '#!/bin/sh\nexec unshare --mount --propagation private bwrap "$@"\n')
    await chmod(bwrap, 0o755)
    const { options, dataDir, lower, driver } = await opened(context, { bwrap })
    const reason = 'a mount of this host does not appear in a sandbox that runs'
    expect(driver.describe()).toContain(`checkouts: in sandboxes that start for them (${reason})`)
    const ready = await marks(options)
    await driver.create(specOf('cold', { lower, objects: 'mirror' }))
    expect(await marks(options)).toEqual(new Set([...ready, 'cold']))
    expect(await ran(driver, dataDir, 'cold', `cat project/src/file ${insidePaths.objects}/pack`)).toBe('lowerpacked')
  })

  it.for(['before', 'after'] as const)(
    'leaks nothing if its process is killed %s the mount',
    async (moment, context) => {
      const { options, plain, dataDir, lower, objects, driver } = await opened(context)
      await driver[Symbol.asyncDispose]()
      const driverUrl = new URL('./create-driver.ts', import.meta.url).href
      const program = `
      const { createBubblewrapDriver } = await import(${JSON.stringify(driverUrl)})
      const log = { info() {}, warn: console.error, error: console.error }
      const objects = () => ${moment === 'before' ? 'process.kill(process.pid, "SIGKILL")' : JSON.stringify(objects)}
      setInterval(() => {}, 1000)
      const driver = await createBubblewrapDriver({ ...${JSON.stringify(plain)}, log, objects })
      await driver.prepared()
      await driver.create(${JSON.stringify(specOf('torn', { lower, objects: 'mirror' }))})`
      await using child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' })
      const exited = once(child, 'exit')
      if (moment === 'after') {
        const project = join(dataDir, 'leases/torn/disk/files/workspace/project')
        await until('the project is mounted', async () => (await mountsBelow(dataDir)).includes(project))
        child.kill('SIGKILL')
      }
      await exited
      const next = await open({ ...options, pool: { ...pool, most: 0 } })
      expect(await next.list()).toEqual(['torn'])
      await next.destroy('torn')
      expect(await next.list()).toEqual([])
      await next[Symbol.asyncDispose]()
      await expectNothingLeft(dataDir)
    },
  )
})
