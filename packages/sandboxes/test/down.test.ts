import { once } from 'node:events'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { down } from '@berth/server/run-down.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { spawn } from '../../../script/testing/spawn.ts'
import { createBubblewrapDriver } from '../src/bubblewrap/create-driver.ts'
import { heldBy } from '../src/down/take-down.ts'
import { instanceOf } from '../src/linux/instance.ts'
import { runProgram } from '../src/linux/run-program.ts'
import { createOciDriver } from '../src/oci/create-driver.ts'
import { makeTestImage, noContainers } from '../src/testing/container-image.ts'

const MIB = 1024 ** 2
const bounds = { memoryBytes: 256 * MIB, processes: 80, cpus: 1, fileSizeBytes: 64 * MIB, diskBytes: 64 * MIB }
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const nothing = { directories: [], processes: [], containers: [], mounts: [], loops: [], groups: [], uids: [] }

/** A process that serves from a data directory and does nothing else. */
async function startServing(dataDir: string, onTerm = ''): Promise<ReturnType<typeof spawn> & { pid: number }> {
  const url = new URL('../src/leases/serving.ts', import.meta.url).href
  const program = `
    const { noteServing } = await import(${JSON.stringify(url)})
    await noteServing(${JSON.stringify(dataDir)})
    ${onTerm}
    process.stdout.write('serving')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const { pid } = child
  if (pid === undefined) throw new Error('the process did not start')
  return Object.assign(child, { pid })
}

describe('berth down', () => {
  let dataDir: string
  const common = () => ({ dataDir, nodePath: process.execPath, bundlesDir: import.meta.dirname, bounds, log })
  const sandbox = (leaseId: string) => ({
    leaseId,
    command: ['sh', '-c', 'setsid sleep 1000 & exec sleep 1000'],
    bounds,
    mounts: [],
    egress: { reach: [] },
  })
  beforeEach(async () => {
    dataDir = await realpath(await mkdtemp(join(tmpdir(), 'berth-down-')))
  })
  afterEach(async () => {
    await rm(dataDir, { recursive: true, force: true })
  })

  it('ends sandboxes, frozen or not, and what waits for one, and leaves nothing of them on this machine', async () => {
    const driver = await createBubblewrapDriver({ ...common(), spares: 1 })
    await driver.create(sandbox('running'))
    await driver.create(sandbox('frozen'))
    await driver.prepared()
    await driver.freeze('frozen')
    const held = await heldBy(instanceOf(dataDir))
    expect(held.directories.length).toBeGreaterThanOrEqual(3)
    expect(held.processes).not.toEqual([])
    if (process.getuid?.() === 0)
      for (const key of ['mounts', 'loops', 'uids'] as const) expect(held[key], key).not.toEqual([])
    expect(await down({}, { data: dataDir })).toBe(0)
    expect(await heldBy(instanceOf(dataDir))).toEqual(nothing)
    await driver[Symbol.asyncDispose]()
    expect(await down({ BERTH_DATA_DIR: dataDir }, {})).toBe(0)
  })

  it('ends containers', async ({ skip }) => {
    skip(noContainers !== undefined, noContainers)
    await using image = await makeTestImage()
    const driver = await createOciDriver({ ...common(), image: image.image, runtime: 'runc', spares: 1 })
    await driver.create(sandbox('running'))
    await driver.create(sandbox('frozen'))
    await driver.prepared()
    await driver.freeze('frozen')
    const held = await heldBy(instanceOf(dataDir))
    expect(held.containers).toHaveLength(3)
    expect(held.groups).not.toEqual([])
    expect(await down({}, { data: dataDir })).toBe(0)
    expect(await heldBy(instanceOf(dataDir))).toEqual(nothing)
    await driver[Symbol.asyncDispose]()
  })

  it('refuses while a service runs on the directory, unless it may end it', async () => {
    const service = await startServing(dataDir)
    // bound: the process is to outlast the first signal
    const stubborn = await startServing(dataDir, "process.on('SIGTERM', () => setTimeout(() => process.exit(), 300))")
    await expect(down({}, { data: dataDir })).rejects.toThrow(`${service.pid}`)
    await expect(down({}, { data: dataDir })).rejects.toThrow(/stop it first, or add --force/)
    const ended = Promise.all([once(service, 'exit'), once(stubborn, 'exit')])
    expect(await down({}, { data: dataDir, force: true })).toBe(0)
    await ended
  })

  it('names what it could not give back, and so does the check at the end of tests', async ({ skip }) => {
    skip(process.getuid?.() !== 0, 'only root has loop devices')
    const file = join(dataDir, 'image')
    await writeFile(file, Buffer.alloc(MIB))
    const device = (await runProgram('losetup', ['--show', '-f', file])).trim()
    try {
      await expect(destroySandboxes(dataDir)).rejects.toThrow(
        `leaks on this machine: ${JSON.stringify({ ...nothing, loops: [file] })}`,
      )
    } finally {
      await runProgram('losetup', ['-d', device])
    }
    await destroySandboxes(dataDir)
  })

  it('takes no note of a process that was killed, and refuses a directory that is not there', async () => {
    const service = await startServing(dataDir)
    service.kill('SIGKILL')
    await once(service, 'exit')
    expect(await down({}, { data: dataDir })).toBe(0)
    await expect(down({}, { data: join(dataDir, 'none') })).rejects.toThrow(/there is no data directory/)
  })
})
