// Measures how long a container takes from the call of the driver to the first act of its command: from one that waits,
// and made at once, against `podman run` of the same image without anything of Berth, by turns.
// Needs root, podman and runc. Run as: node bench/oci.ts [rounds]
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createOciDriver, type OciDriver } from '../packages/server/src/sandboxes/oci/create-driver.ts'
import { processLimits } from '../packages/server/src/sandboxes/oci/engine.ts'
import { makeTestImage } from '../packages/server/src/sandboxes/testing/container-image.ts'

const FRESH_BOUND = 1.2
const WAITING_BOUND_MS = 100
const MIB = 1024 ** 2
const bounds = {
  ...{ memoryBytes: 512 * MIB, processes: 128, cpus: 2 },
  ...{ fileSizeBytes: 1024 * MIB, diskBytes: 10 * 1024 * MIB },
}

const rounds = Number(process.argv[2] ?? 12)
const log = { info: () => undefined, warn: console.error, error: console.error }
const print = (line: string) => process.stdout.write(`${line}\n`)
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
const podman = (args: readonly string[]) =>
  promisify(execFile)('podman', ['--cgroup-manager=cgroupfs', '--runtime=runc', ...args])

/** The first act of a command, seen from outside. */
const act = ['sh', '-c', 'echo > /workspace/done; exec sleep 100']
async function untilDone(directory: string): Promise<void> {
  while (!existsSync(join(directory, 'done'))) await sleep(1)
}

const root = await mkdtemp(join(tmpdir(), 'berth-bench-'))
await using stack = new AsyncDisposableStack()
stack.defer(() => rm(root, { recursive: true, force: true }))
const { image } = stack.use(await makeTestImage())

async function bareMs(name: string): Promise<number> {
  const directory = join(root, name)
  await mkdir(directory)
  const start = performance.now()
  await podman([
    ...['run', '--detach', '--name', name, '--network=none', '--pull=never', ...processLimits()],
    ...['--volume', `${directory}:/workspace`, image, ...act],
  ])
  await untilDone(directory)
  const took = performance.now() - start
  await podman(['rm', '--force', '--time', '0', name])
  return took
}

async function driverMs(driver: OciDriver, dataDir: string, leaseId: string): Promise<number> {
  const start = performance.now()
  await driver.create({ leaseId, command: act, bounds, mounts: [], egress: { reach: [] } })
  await untilDone(join(dataDir, 'leases', leaseId, 'disk/files/workspace'))
  const took = performance.now() - start
  await driver.destroy(leaseId)
  return took
}

async function open(name: string, spares: number) {
  const dataDir = join(root, name)
  await mkdir(dataDir)
  await mkdir(join(dataDir, 'bundles'))
  const common = { dataDir, nodePath: process.execPath, bundlesDir: join(dataDir, 'bundles'), bounds, log, image }
  return { dataDir, driver: stack.use(await createOciDriver({ ...common, runtime: 'runc', spares })) }
}

const fresh = await open('fresh', 0)
const waiting = await open('waiting', 1)
const took = { bare: [] as number[], fresh: [] as number[], waiting: [] as number[] }
for (let round = -1; round < rounds; round++) {
  const bare = await bareMs(`berth-bench-${process.pid}-${round + 1}`)
  const made = await driverMs(fresh.driver, fresh.dataDir, `fresh-${round + 1}`)
  await waiting.driver.prepared()
  const handed = await driverMs(waiting.driver, waiting.dataDir, `waiting-${round + 1}`)
  // The first round fills caches.
  if (round < 0) continue
  took.bare.push(bare)
  took.fresh.push(made)
  took.waiting.push(handed)
}
const [bare, made, handed] = [median(took.bare), median(took.fresh), median(took.waiting)]
print(`podman run, bare            p50 ${bare.toFixed(0)} ms`)
print(`driver, made at once        p50 ${made.toFixed(0)} ms, ${(made / bare).toFixed(2)} x (bound ${FRESH_BOUND})`)
print(`driver, from one that waits p50 ${handed.toFixed(0)} ms (bound ${WAITING_BOUND_MS} ms)`)
process.exitCode = made / bare > FRESH_BOUND || handed > WAITING_BOUND_MS ? 1 : 0
