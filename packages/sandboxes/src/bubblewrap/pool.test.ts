import { once } from 'node:events'
import { chmod, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import type { SandboxSpec } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { instanceOf } from '../linux/instance.ts'
import { waitUntil } from '../linux/wait-until.ts'
import { type BubblewrapDriver, createBubblewrapDriver } from './create-driver.ts'
import { type BubblewrapOptions, defaultBounds } from './options.ts'
import { markedProcesses } from './processes/marked-processes.ts'

const bundlesDir = resolve(dirname(fileURLToPath(import.meta.resolve('@berth/supervisor'))), '../dist')
const bounds = { ...defaultBounds, memoryBytes: 256 * 1024 ** 2, processes: 80, cpus: 1, diskBytes: 64 * 1024 ** 2 }
const log = { info: () => undefined, warn: console.error, error: console.error }
const env = { PATH: '/usr/bin:/bin' }
/** An agent that answers each line with it and the name of its pid namespace. */
const command = ['bash', '-c', 'while read -r line; do echo "$line $(readlink /proc/self/ns/pid)"; done']
const supervisor = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`]
const agent = { command, env, cwd: insidePaths.workspace, line: 'begin' }
const pool = { least: 2, most: 2, command: supervisor, agent }

const clean: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const one of clean.splice(0).toReversed()) await one()
})

async function newOptions(changes: Partial<BubblewrapOptions> = {}): Promise<BubblewrapOptions> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-pool-'))
  await chmod(dataDir, 0o700)
  clean.push(() => rm(dataDir, { recursive: true, force: true }))
  return { dataDir, nodePath: process.execPath, bundlesDir, bounds, log, spares: 0, pool, ...changes }
}

async function open(options: BubblewrapOptions): Promise<BubblewrapDriver> {
  const driver = await createBubblewrapDriver(options)
  clean.push(() => driver[Symbol.asyncDispose]())
  return driver
}

function specOf(leaseId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec {
  return { leaseId, command: supervisor, bounds, mounts: [], egress: { reach: [] }, ...changes }
}

/** Starts the agent of a lease as a worker does. @returns what it answered to its first line, and its pid */
async function ask(driver: BubblewrapDriver, leaseId: string): Promise<{ pid: string; namespace: string }> {
  const socket = await driver.attach(leaseId)
  const send = (message: object) => socket.write(`${JSON.stringify(message)}\n`)
  send({ hello: { fence: 1, from: 0 } })
  send({ start: { key: 'start/1', command, env, cwd: insidePaths.workspace } })
  send({ in: { key: 'initialize/1', line: 'begin' } })
  let output = ''
  for await (const chunk of socket) {
    output += chunk
    const [, pid = '', namespace = ''] = /"pid":(\d+)[\s\S]*^o \d+ begin (\S+)$/m.exec(output) ?? []
    if (namespace !== '') return { pid, namespace }
  }
  throw new Error(`the agent did not answer: ${output}`)
}

const marks = async ({ dataDir }: BubblewrapOptions) =>
  (await markedProcesses(instanceOf(await realpath(dataDir)).tag)).map(({ leaseId }) => leaseId)

for (const cgroups of [true, false]) {
  describe(`the pool of sandboxes ${cgroups ? 'with' : 'without'} cgroups`, () => {
    it('gives each lease a sandbox of its own, which all other operations then find', async () => {
      const options = await newOptions({ cgroups })
      const driver = await open(options)
      await driver.prepared()
      const ready = new Set(await marks(options))
      expect(ready.size).toBe(2)
      expect(await driver.list()).toEqual([])
      await driver.create(specOf('one'))
      await driver.create(specOf('two'))
      expect(await driver.list()).toEqual(['one', 'two'])
      await driver.prepared()
      expect(ready.isSubsetOf(new Set(await marks(options)))).toBe(true)
      const [one, two] = [await ask(driver, 'one'), await ask(driver, 'two')]
      expect(one.namespace).not.toBe(two.namespace)
      await driver.freeze('one')
      expect(await driver.thaw('one')).toBe(true)
      expect(await driver.stateOf('one')).toBe('running')
      await driver.destroy('one')
      expect(await driver.list()).toEqual(['two'])
      await driver.destroy('two')
      expect(await driver.list()).toEqual([])
    })

    it('leaves nothing of a killed process but the sandboxes that have a lease', async () => {
      const { log: _, ...plain } = await newOptions({ cgroups })
      const options = { ...plain, log }
      const driverUrl = new URL('./create-driver.ts', import.meta.url).href
      const program = `
        const { createBubblewrapDriver } = await import(${JSON.stringify(driverUrl)})
        const log = { info() {}, warn: console.error, error: console.error }
        setInterval(() => {}, 1000)
        const driver = await createBubblewrapDriver({ ...${JSON.stringify(plain)}, log })
        await driver.prepared()
        await driver.create(${JSON.stringify(specOf('kept'))})
        await driver.prepared()
        process.stdout.write('ready')`
      await using child = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const exited = once(child, 'exit')
      await Promise.race([once(child.stdout, 'data'), exited])
      expect(new Set(await marks(options)).size).toBe(3)
      child.kill('SIGKILL')
      await exited
      expect(await waitUntil(async () => new Set(await marks(options)).size === 1, 20_000)).toBe(true)
      const driver = await open({ ...options, pool: { ...pool, most: 0 } })
      expect(await readdir(join(options.dataDir, 'blanks'))).toEqual([])
      expect(await driver.list()).toEqual(['kept'])
      await ask(driver, 'kept')
      await driver.destroy('kept')
      expect(await marks(options)).toEqual([])
    })
  })
}

describe('the pool of sandboxes', () => {
  it('gives its sandboxes back while memory is short', async () => {
    let isTight = false
    const options = await newOptions({ pool: { ...pool, least: 1, isTight: async () => isTight } })
    const driver = await open(options)
    await driver.prepared()
    expect(new Set(await marks(options)).size).toBe(1)
    isTight = true
    expect(await waitUntil(async () => (await marks(options)).length === 0, 30_000)).toBe(true)
    await driver.create(specOf('made'))
    expect(new Set(await marks(options))).toEqual(new Set(['made']))
    await driver.destroy('made')
  })

  it('makes a sandbox that shows more than those that stand, or has other bounds', async () => {
    const options = await newOptions({ pool: { ...pool, least: 1, most: 1 } })
    const driver = await open(options)
    await driver.prepared()
    const [ready] = await marks(options)
    await driver.create(specOf('other', { bounds: { ...bounds, cpus: 2 } }))
    expect(await marks(options)).toContain('other')
    expect(await marks(options)).toContain(ready)
    await driver.destroy('other')
  })

  it('refuses a lease that exists, and keeps that', async () => {
    const driver = await open(await newOptions({ pool: { ...pool, least: 1, most: 1 } }))
    await driver.create(specOf('same'))
    await driver.prepared()
    await expect(driver.create(specOf('same'))).rejects.toThrow('already exists')
    await ask(driver, 'same')
    await driver.destroy('same')
    expect(await driver.list()).toEqual([])
  })
})
