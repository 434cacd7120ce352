import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toyOf } from '@berth/testing/toy.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import type { SandboxDriver, SandboxSpec } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { parseTrees } from '../linux/cgroups.ts'
import { MissingProgramError } from '../linux/find-program.ts'
import { instanceOf } from '../linux/instance.ts'
import { builtTreeProgram, sandboxDriverContract } from '../testing/contract-suite.ts'
import { createBubblewrapDriver } from './create-driver.ts'
import { LaunchError } from './launch/launch.ts'
import { type BubblewrapOptions, defaultBounds } from './options.ts'

const bounds = { ...defaultBounds, memoryBytes: 256 * 1024 ** 2, processes: 80, cpus: 1, diskBytes: 64 * 1024 ** 2 }
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const privileged = process.getuid?.() === 0

/** Creates a data directory at its worst: with a very long path, below a directory closed to others. */
async function makeDataDir(): Promise<{ readonly root: string; readonly dataDir: string }> {
  const root = await mkdtemp(join(tmpdir(), 'berth-driver-'))
  await chmod(root, 0o700)
  const dataDir = join(root, 'a-directory-with-a-long-name'.repeat(5), 'data')
  await mkdir(dataDir, { recursive: true })
  await mkdir(join(root, 'bundles'))
  await copyFile(builtTreeProgram, join(root, 'bundles', 'tree.cjs'))
  return { root, dataDir }
}

function optionsFor(root: string, dataDir: string, changes: Partial<BubblewrapOptions> = {}): BubblewrapOptions {
  const bundlesDir = join(root, 'bundles')
  return { dataDir, nodePath: process.execPath, bundlesDir, bounds, log, spares: 1, ...changes }
}

/** Creates a sandbox in a fresh Node process, which is killed right after the create. */
async function createThenKill(options: BubblewrapOptions, spec: SandboxSpec): Promise<void> {
  const { log: _, ...plain } = options
  const driverUrl = new URL('./create-driver.ts', import.meta.url).href
  const program = `
    const { createBubblewrapDriver } = await import(${JSON.stringify(driverUrl)})
    const log = { info() {}, warn: console.error, error: console.error }
    const driver = await createBubblewrapDriver({ ...${JSON.stringify(plain)}, log })
    await driver.create(${JSON.stringify(spec)})
    process.stdout.write('created')
    setInterval(() => {}, 1000)`
  await using child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  await child[Symbol.asyncDispose]()
  expect(String(output)).toBe('created')
}

/** A driver that somebody adds. */
const toy = (other: SandboxDriver) =>
  toyOf(other, [
    ...([
      'kind',
      'describe',
      'lowerOwner',
      'layers',
      'create',
      'attach',
      'writeInputs',
      'serveProxy',
      'freeze',
    ] as const),
    ...([
      'thaw',
      'park',
      'stateOf',
      'endOrphans',
      'keepOrphans',
      'run',
      'settleBaseline',
      'hasDirectory',
      'destroy',
    ] as const),
    ...(['list', Symbol.asyncDispose] as const),
  ])

function contract(
  name: string,
  changes: Partial<BubblewrapOptions>,
  enforces: { cpu: boolean; exactDisk: boolean },
  as = (driver: SandboxDriver) => driver,
) {
  sandboxDriverContract(name, async () => {
    const { root, dataDir } = await makeDataDir()
    const options = optionsFor(root, dataDir, changes)
    const driver = as(await createBubblewrapDriver(options))
    return {
      driver,
      node: insidePaths.node,
      bounds,
      hostPaths: [root, dataDir, join(dataDir, 'leases'), import.meta.dirname, '/root', '/var', '/sys/fs/cgroup'],
      shows: { sys: false },
      enforces: { ...enforces, wholeMemory: enforces.cpu },
      createInProcessThatIsKilled: spec => createThenKill(options, spec),
      async dispose() {
        // A process killed in `create` may have left spare disks; opening the driver removes them.
        await driver[Symbol.asyncDispose]()
        await (await createBubblewrapDriver(options))[Symbol.asyncDispose]()
        await rm(root, { recursive: true, force: true })
      },
    }
  })
}

// As root on a host with cgroups and loop devices, require both, so that their loss fails a test.
contract('bubblewrap with cgroups and loop disks', privileged ? { disk: 'loop' } : {}, {
  cpu: privileged,
  exactDisk: privileged,
})
contract(
  'bubblewrap with rlimits and the disk poller',
  { disk: 'poll', cgroups: false },
  { cpu: false, exactDisk: false },
)
contract('a toy driver', { disk: 'poll', cgroups: false }, { cpu: false, exactDisk: false }, toy)

describe('the bubblewrap driver', () => {
  const clean: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const one of clean.splice(0).toReversed()) await one()
  })
  const opened = async (changes: Partial<BubblewrapOptions> = {}) => {
    const { root, dataDir } = await makeDataDir()
    clean.push(() => rm(root, { recursive: true, force: true }))
    const driver = await createBubblewrapDriver(optionsFor(root, dataDir, changes))
    clean.push(() => driver[Symbol.asyncDispose]())
    return { driver, root, dataDir }
  }
  const spec = (leaseId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec => {
    return { leaseId, command: ['sleep', '100'], bounds, mounts: [], egress: { reach: [] }, ...changes }
  }

  it('says how to install a missing bubblewrap', async () => {
    const { root, dataDir } = await makeDataDir()
    clean.push(() => rm(root, { recursive: true, force: true }))
    const opening = createBubblewrapDriver(optionsFor(root, dataDir, { bwrap: 'no-such-bwrap' }))
    await expect(opening).rejects.toThrow(MissingProgramError)
    await expect(opening).rejects.toThrow(/apt-get install bubblewrap/)
  })

  it('leaves nothing behind when bubblewrap fails, and reports its output', async () => {
    const { driver, root, dataDir } = await opened()
    const uids = () => readdir(privileged ? '/run/berth/uids' : join(dataDir, 'uids'))
    const mine = async () => {
      const owners = (await uids()).map(name => readlink(join('/run/berth/uids', name)).catch(() => ''))
      return (await Promise.all(owners)).filter(owner => owner.startsWith(root))
    }
    await rm(join(root, 'bundles'), { recursive: true })
    await expect(driver.create(spec('bad'))).rejects.toThrow(/did not start.*bwrap.*bundles/)
    expect(await driver.list()).toEqual([])
    expect(await readdir(join(dataDir, 'leases'))).toEqual([])
    expect(await mine()).toEqual([])
    await mkdir(join(root, 'bundles'))
    await driver.create(spec('good'))
    await driver.destroy('good')
  })

  it('mounts directories read-only, and refuses ones of the sandbox or the service', async () => {
    const { driver, root, dataDir } = await opened({ disk: 'poll' })
    const shown = join(root, 'shown')
    await mkdir(shown)
    await chmod(shown, 0o755)
    const probe = `test -d ${shown} && ! touch ${shown}/x && exec sleep 100`
    await driver.create(spec('good', { mounts: [shown], command: ['sh', '-c', probe] }))
    const socket = await driver.attach('good')
    socket.destroy()
    const refused = ['/proc/1', '/sys', '/dev/shm', '/tmp', '/opt', '/run', '/etc', '/workspace/.berth', root, dataDir]
    for (const mount of [...refused, join(dataDir, 'leases')]) {
      await expect(driver.create(spec('bad', { mounts: [mount] })), mount).rejects.toThrow()
    }
    expect(await driver.list()).toEqual(['good'])
    await driver.destroy('good')
  })

  it('finds and destroys incomplete leases, whichever part exists', async () => {
    const { driver, dataDir } = await opened({ disk: 'poll' })
    await mkdir(join(dataDir, 'leases', 'half'))
    await driver.create(spec('torn'))
    await rm(join(dataDir, 'leases', 'torn', 'host'), { recursive: true })
    expect(await driver.list()).toEqual(['half', 'torn'])
    await driver.destroy('half')
    await driver.destroy('torn')
    expect(await driver.list()).toEqual([])
  })

  it('ends no other sandbox after a power cut emptied the file that names the cgroups of one', async () => {
    const { driver, dataDir } = await opened()
    await driver.create(spec('alive'))
    const torn = join(instanceOf(await realpath(dataDir)).leasesDir, 'torn', 'host')
    await mkdir(torn, { recursive: true })
    await writeFile(join(torn, 'cgroup'), '')
    await driver.freeze('torn')
    await driver.destroy('torn')
    expect(await driver.list()).toEqual(['alive'])
    expect(await driver.stateOf('alive')).toBe('running')
    await driver.destroy('alive')
  })

  it('gives sandboxes a lower CPU weight than the service', async ({ skip }) => {
    const trees = parseTrees(await readFile('/proc/self/mountinfo', 'utf8'))
    const { dataDir } = await opened({ disk: 'poll' })
    const { tag } = instanceOf(await realpath(dataDir))
    const weights = trees.filter(({ version }) => version === 2).map(tree => join(tree.mountPoint, tag, 'cpu.weight'))
    const found = weights.filter(file => existsSync(file))
    skip(found.length === 0, 'no cgroups of version 2 with the CPU controller')
    for (const file of found) expect(Number(await readFile(file, 'utf8'))).toBe(25)
  })

  it('finds a running sandbox whose directory is gone', async () => {
    for (const cgroups of [true, false]) {
      const { driver, dataDir } = await opened({ disk: 'poll', cgroups })
      await driver.create(spec('lost'))
      await rm(join(dataDir, 'leases', 'lost'), { recursive: true })
      expect(await driver.list()).toEqual(['lost'])
      await driver.destroy('lost')
      expect(await driver.list()).toEqual([])
    }
  })

  it('destroys a lease while it is being created', async () => {
    const { driver } = await opened()
    // If its processes end before they report that they started, `create` fails.
    const creating = driver.create(spec('hasty')).catch((error: unknown) => error)
    await driver.destroy('hasty')
    const made = await creating
    expect(made === undefined || made instanceof LaunchError).toBe(true)
    expect(await driver.list()).toEqual([])
  })

  it('removes the spares of a killed process, but not the sandboxes that it created', async () => {
    const { root, dataDir } = await makeDataDir()
    clean.push(() => rm(root, { recursive: true, force: true }))
    const options = optionsFor(root, dataDir, { spares: 2 })
    await createThenKill(options, spec('kept'))
    expect(await readdir(join(dataDir, 'blanks'))).not.toEqual([])
    const driver = await createBubblewrapDriver(options)
    clean.push(() => driver[Symbol.asyncDispose]())
    ;(await driver.attach('kept')).destroy()
    await driver.destroy('kept')
    await driver[Symbol.asyncDispose]()
    expect(await readdir(join(dataDir, 'blanks'))).toEqual([])
  })

  it('removes trees that an agent made hard to remove', async () => {
    const { driver } = await opened({ disk: 'poll' })
    const script =
      'mkdir -p a/b; chmod 000 a; for n in $(seq 600); do mkdir dddddddd; cd dddddddd; done; exec sleep 100'
    await driver.create(spec('deep', { command: ['bash', '-c', script] }))
    await driver.destroy('deep')
    expect(await driver.list()).toEqual([])
  })
})
