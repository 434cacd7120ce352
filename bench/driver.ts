// Measures the driver's overhead over bubblewrap itself: from the call of the driver to the end of `true` inside,
// against a bare `bwrap` with the same mounts and namespaces, in pairs. Run as: node bench/driver.ts [pairs]
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import { createBubblewrapDriver } from '../packages/sandboxes/src/bubblewrap/create-driver.ts'
import { inspectHost } from '../packages/sandboxes/src/bubblewrap/host.ts'
import { sandboxOptions } from '../packages/sandboxes/src/bubblewrap/launch/arguments.ts'
import { type DiskMode, defaultBounds } from '../packages/sandboxes/src/bubblewrap/options.ts'
import { SandboxGoneError } from '../packages/sandboxes/src/driver.ts'
import { passwdFiles } from '../packages/sandboxes/src/leases/inside-files.ts'
import { leaseFiles } from '../packages/sandboxes/src/leases/lease-files.ts'
import { makeAgentDirectories } from '../packages/sandboxes/src/leases/loop-disk.ts'
import { writeVisibleFile } from '../packages/sandboxes/src/leases/visible-files.ts'
import { instanceOf } from '../packages/sandboxes/src/linux/instance.ts'
import { systemMounts } from '../packages/sandboxes/src/linux/system-mounts.ts'

const BOUND = 2
const pairs = Number(process.argv[2] ?? 40)
const log = { info: () => undefined, warn: console.error, error: console.error }
const dataDir = await mkdtemp(join(tmpdir(), 'berth-bench-'))
const bundlesDir = join(dataDir, 'bundles')
await mkdir(bundlesDir)

/** Creates a lease's mounts without a driver, once, outside the measured time. */
async function bareOptions(): Promise<readonly string[]> {
  const instance = instanceOf(dataDir)
  const files = leaseFiles(instance, 'bare')
  for (const dir of [files.host, files.run, files.inputs]) await mkdir(dir, { recursive: true })
  makeAgentDirectories(files.files)
  for (const [name, content] of passwdFiles(200_000)) writeVisibleFile(join(files.host, name), content)
  const host = await inspectHost('bwrap')
  const options = sandboxOptions({
    spec: specOf('bare'),
    files,
    uid: 200_000,
    privileged: host.privileged,
    canDisableUserNamespaces: host.canDisableUserNamespaces,
    nodePath: process.execPath,
    closedNodePath: process.execPath,
    bundlesDir,
    etcDir: join(dataDir, 'sandbox-etc'),
    systemMounts: systemMounts(),
    processMasks: [],
    rlimits: { memory: false, processes: false },
  })
  // Drop the driver's own milestone: it is not a mount, and needs a socket.
  return options.toSpliced(options.indexOf('--file'), 3)
}

function specOf(leaseId: string) {
  return { leaseId, command: ['true'], bounds: defaultBounds, mounts: [], egress: { reach: [] } }
}

const ended = (child: ChildProcess) => new Promise<void>(resolve => child.once('exit', () => resolve()))
const closed = (stream: Duplex) => finished(stream.resume()).catch(() => undefined)

/** Both sides end when `true` ends: only `true` holds the descriptor, so its close marks the end. */
async function bareMs(options: readonly string[]): Promise<number> {
  const start = performance.now()
  const child = spawn('bwrap', [...options, '--', 'true'], { env: {}, stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
  const exit = ended(child)
  const held: unknown = child.stdio[3]
  if (held instanceof Duplex) await closed(held)
  const took = performance.now() - start
  await exit
  if (child.exitCode !== 0) throw new Error(`bare bwrap: exit ${child.exitCode}`)
  return took
}

async function driverMs(driver: Awaited<ReturnType<typeof createBubblewrapDriver>>, leaseId: string): Promise<number> {
  const start = performance.now()
  await driver.create(specOf(leaseId))
  try {
    const socket = await driver.attach(leaseId)
    await closed(socket)
  } catch (error) {
    if (!(error instanceof SandboxGoneError)) throw error
  }
  const took = performance.now() - start
  await driver.destroy(leaseId)
  return took
}

const print = (line: string) => process.stdout.write(`${line}\n`)
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** @param spares 0 creates everything within the measured time */
async function compare(title: string, disk: DiskMode, spares: number): Promise<number> {
  await using driver = await createBubblewrapDriver({
    dataDir,
    nodePath: process.execPath,
    bundlesDir,
    bounds: defaultBounds,
    log,
    disk,
    spares,
  })
  const options = await bareOptions()
  const bare: number[] = []
  const made: number[] = []
  for (let n = -3; n < pairs; n++) {
    await driver.prepared()
    const bareTook = await bareMs(options)
    const driverTook = await driverMs(driver, `bench-${n + 3}`)
    if (n < 0) continue
    bare.push(bareTook)
    made.push(driverTook)
  }
  await rm(leaseFiles(instanceOf(dataDir), 'bare').dir, { recursive: true })
  const ratio = median(made) / median(bare)
  print(`${title}: ${median(made).toFixed(2)} ms against ${median(bare).toFixed(2)} ms bare, ratio ${ratio.toFixed(2)}`)
  return ratio
}

try {
  const polled = await compare('driver create, prepared ahead, disk by poller', 'poll', 2)
  const figure = await compare('driver create, prepared ahead, disk by loop file system', 'auto', 2)
  await compare('driver create, everything made on demand', 'auto', 0)
  print(`driver_create_ratio=${figure.toFixed(2)} polled=${polled.toFixed(2)} bound=${BOUND.toFixed(2)}`)
  if (figure > BOUND) process.exitCode = 1
} finally {
  await rm(dataDir, { recursive: true, force: true }).catch(console.error)
}
