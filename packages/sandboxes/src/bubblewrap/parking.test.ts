import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, unlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import { type SandboxDriver, SandboxGoneError, type SandboxSpec } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { hostNames, leaseFiles } from '../leases/lease-files.ts'
import { openSupervisorDoor } from '../leases/supervisor-door.ts'
import { Line } from '../line/line.ts'
import { serveLine } from '../line/serve-line.ts'
import { instanceOf } from '../linux/instance.ts'
import { mountsBelow } from '../linux/unmount-below.ts'
import { waitUntil } from '../linux/wait-until.ts'
import { createRemoteDriver } from '../remote/create-driver.ts'
import { hostCalls } from '../remote/host-calls.ts'
import { RemoteHost } from '../remote/remote-host.ts'
import { driverErrors } from '../remote/wire.ts'
import { retireAgent } from '../retire-line.ts'
import { type BubblewrapDriver, createBubblewrapDriver } from './create-driver.ts'
import { type BubblewrapOptions, defaultBounds } from './options.ts'
import { markedProcesses } from './processes/marked-processes.ts'

const bundlesDir = resolve(dirname(fileURLToPath(import.meta.resolve('@berth/supervisor'))), '../dist')
const bounds = { ...defaultBounds, memoryBytes: 256 * 1024 ** 2, processes: 80, cpus: 1, diskBytes: 64 * 1024 ** 2 }
const log = { info: () => undefined, warn: console.error, error: console.error }
const env = { PATH: '/usr/bin:/bin' }
/** An agent that runs each line as a script, and says when it has. */
const command = ['bash', '-c', 'while read -r line; do eval "$line"; echo done; done']
/** Outlives the agent; until it has left the group of that, it ends with it. */
const serving = '(setsid sleep 600 >/dev/null 2>&1 </dev/null &); until pgrep -x sleep >/dev/null; do :; done'
const supervisor = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`]

const clean: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const one of clean.splice(0).toReversed()) await one()
})

async function newOptions(changes: Partial<BubblewrapOptions> = {}): Promise<BubblewrapOptions> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-parking-'))
  await chmod(dataDir, 0o700)
  clean.push(() => rm(dataDir, { recursive: true, force: true }))
  return {
    dataDir: await realpath(dataDir),
    nodePath: process.execPath,
    bundlesDir,
    bounds,
    log,
    spares: 0,
    ...changes,
  }
}

async function open(options: BubblewrapOptions): Promise<BubblewrapDriver> {
  const driver = await createBubblewrapDriver(options)
  clean.push(() => driver[Symbol.asyncDispose]())
  clean.push(async () => {
    for (const leaseId of await driver.list()) await driver.destroy(leaseId)
  })
  return driver
}

const specOf = (leaseId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec => ({
  ...{ leaseId, command: supervisor, bounds, mounts: [], egress: { reach: [] } },
  ...changes,
})

/** What a worker keeps of a sandbox: how far it has read, and how often it has started an agent. */
class Worker {
  readonly driver: SandboxDriver
  readonly leaseId: string
  offset = 0
  starts = 0

  constructor(driver: SandboxDriver, leaseId: string) {
    this.driver = driver
    this.leaseId = leaseId
  }

  /** Attaches and gives orders. @returns what the journal says from where the last call has stopped reading */
  async attach(orders: readonly object[], isLast: (records: string) => boolean, fence = 1): Promise<string> {
    const socket = await this.driver.attach(this.leaseId)
    for (const order of [{ hello: { fence, from: this.offset } }, ...orders]) socket.write(`${JSON.stringify(order)}\n`)
    let heard = ''
    for await (const chunk of socket) {
      heard += chunk.toString('latin1')
      const records = heard.slice(heard.indexOf('\n') + 1)
      if (!isLast(records)) continue
      this.offset += records.length
      return records
    }
    return heard
  }

  /** Runs a script as the agent, with a new process if there is none. */
  async run(script: string, fence = 1): Promise<string> {
    this.starts += 1
    const start = { start: { key: `start/${this.starts}`, command, env, cwd: insidePaths.workspace } }
    const prompt = { in: { key: `prompt/${this.starts}`, line: script } }
    return this.attach([start, prompt], records => /^o \d+ done$/m.test(records), fence)
  }

  /** Ends the agent, as the keeper of idle agents does; nobody reads of its end. */
  async retire(fence = 1): Promise<void> {
    const stream = await this.driver.attach(this.leaseId)
    // bound: an agent that is late is killed, and has ended all the same
    expect(await retireAgent(stream, { fence, graceMs: 1000 }, AbortSignal.timeout(10_000))).toBe('ended')
  }

  async park(fence = 1): Promise<boolean> {
    await this.retire(fence)
    return this.driver.park(this.leaseId, fence)
  }
}

const filesOf = (options: BubblewrapOptions, leaseId: string) => leaseFiles(instanceOf(options.dataDir), leaseId)
const noteOf = (options: BubblewrapOptions, leaseId: string) => join(filesOf(options, leaseId).host, hostNames.parked)
const marks = async ({ dataDir }: BubblewrapOptions) =>
  (await markedProcesses(instanceOf(dataDir).tag)).map(({ leaseId }) => leaseId)

for (const cgroups of [true, false]) {
  describe(`parking ${cgroups ? 'with' : 'without'} cgroups`, () => {
    it('leaves no process, and goes on with files and journal', async () => {
      const options = await newOptions({ cgroups })
      const driver = await open(options)
      await driver.create(specOf('one'))
      const worker = new Worker(driver, 'one')
      await worker.run('for dir in /workspace /tmp /home/agent; do echo kept > "$dir/file"; done')
      expect(await worker.park()).toBe(true)
      expect(await marks(options)).toEqual([])
      expect(await driver.stateOf('one')).toBe('parked')
      expect(await driver.list()).toEqual(['one'])
      // All of it changes nothing.
      expect(await driver.park('one', 1)).toBe(true)
      await driver.freeze('one')
      await driver.endOrphans('one')
      expect(await driver.stateOf('one')).toBe('parked')
      await expect(driver.attach('one')).rejects.toBeInstanceOf(SandboxGoneError)
      expect(await driver.hasDirectory('one', 'workspace', ['.berth'])).toBe(true)

      await driver.serveProxy('one', { reach: [] })
      expect(await driver.thaw('one')).toBe(true)
      expect(await driver.thaw('one')).toBe(false)
      expect(await driver.stateOf('one')).toBe('running')
      const further = await worker.run('cat /workspace/file /tmp/file /home/agent/file; id -u; ls /opt/berth')
      // First the end that nobody had read, and nothing before it.
      expect(further).toMatch(/^x \d+ [^\n]*\ns start\/2 /)
      expect(further.match(/^o \d+ kept$/gm)).toHaveLength(3)
      expect(further).toContain('bundles')
      // And again, whose end leaves nothing.
      expect(await worker.park()).toBe(true)
      expect(await driver.thaw('one')).toBe(true)
      expect(await worker.run('echo $(( 6 * 7 ))')).toMatch(/^x [\s\S]*^o \d+ 42$/m)
      expect(await worker.park()).toBe(true)
      await driver.destroy('one')
      expect(await driver.list()).toEqual([])
      expect(await driver.stateOf('one')).toBe('gone')
      expect(await mountsBelow(options.dataDir)).toEqual([])
    })

    it('refuses while an agent, a process, a terminal or a file in memory would be lost', async () => {
      const options = await newOptions({ cgroups })
      const driver = await open(options)
      await driver.create(specOf('one'))
      const worker = new Worker(driver, 'one')
      await worker.run('echo')
      expect(await driver.park('one', 1)).toBe(false)
      await worker.retire()
      expect(await driver.park('one', 0)).toBe(false)

      await worker.run(serving)
      expect(await worker.park()).toBe(false)
      await worker.run('pkill sleep; echo there > /dev/shm/state')
      expect(await worker.park()).toBe(false)
      await worker.run('rm /dev/shm/state')

      const terminal = async (order: object) => {
        const socket = await driver.attach('one')
        socket.write(`${JSON.stringify({ terminal: { id: 't', ...order } })}\n`)
        return text(socket)
      }
      await terminal({ start: { env, cwd: '/workspace', columns: 80, rows: 24, command: 'sleep 600' } })
      expect(await worker.park()).toBe(false)
      await terminal({ end: true })
      expect(await waitUntil(() => driver.park('one', 1), 10_000)).toBe(true)
      expect(await marks(options)).toEqual([])
    })
  })
}

describe('a parked sandbox', () => {
  it('refuses tokens that it refused before, and keys whose records nobody has read', async () => {
    const driver = await open(await newOptions())
    await driver.create(specOf('one'))
    const worker = new Worker(driver, 'one')
    await worker.run('echo first', 7)
    const unread = { start: { key: 'start/unread', command, env, cwd: '/' } }
    const { offset } = worker
    await worker.retire(7)
    await worker.attach([unread], records => records.includes('s start/unread'), 7)
    worker.offset = offset
    expect(await worker.park(7)).toBe(true)
    await driver.thaw('one')
    expect(await worker.attach([], () => false, 6)).toBe('{"refused":{"fence":7}}\n')
    const records = await worker.attach([unread, { ping: 1 }], all => /^p 1$/m.test(all), 7)
    expect(records.match(/^s start\/unread/gm)).toHaveLength(1)
  })

  it('shows all that it has shown, with the programs of the release that starts it', async () => {
    const options = await newOptions()
    const driver = await open(options)
    const lower = join(options.dataDir, 'lower')
    const extension = join(options.dataDir, 'extension')
    const runtime = await mkdtemp(join(tmpdir(), 'berth-runtime-'))
    clean.push(() => rm(runtime, { recursive: true, force: true }))
    for (const directory of [lower, extension]) await mkdir(directory)
    for (const directory of [lower, extension, runtime]) await writeFile(join(directory, 'shown'), 'shown')
    await chmod(runtime, 0o755)
    const trees = { places: { workspace: [lower], home: [lower] }, baselines: {} } as const
    const trust = { certificate: '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n', hash: '0123abcd' }
    async function* engine() {
      yield Buffer.from('engine')
    }
    const extensions = [{ id: 'extension', directory: extension }]
    const shown = { mounts: [runtime], runtime, extensions, engine: engine(), trust }
    await driver.create(specOf('one', { ...shown, ...(driver.lowerOwner() !== null && { lower: trees }) }))
    const worker = new Worker(driver, 'one')
    const script = `cat ${runtime}/shown /opt/runtime/shown /opt/extensions/extension/shown ${insidePaths.engine} \
      /run/berth/trust/certs/0123abcd.0 /workspace/shown; echo; ls -lR /opt /run/berth /workspace /etc/ssl; id`
    const seen = (records: string) =>
      [...records.matchAll(/^o \d+ (.*)$/gm)].map(([, line]) => line?.replaceAll(/\d\d:\d\d/g, ''))
    const before = seen(await worker.run(script.replaceAll('\\\n', '')))
    expect(await worker.park()).toBe(true)
    // Another release has its programs elsewhere.
    const moved = await mkdtemp(join(tmpdir(), 'berth-bundles-'))
    clean.push(() => rm(moved, { recursive: true, force: true }))
    await chmod(moved, 0o755)
    await cp(bundlesDir, moved, { recursive: true, preserveTimestamps: true })
    await using next = await createBubblewrapDriver({ ...options, bundlesDir: moved })
    expect(await next.thaw('one')).toBe(true)
    const args = (await readFile(join(filesOf(options, 'one').host, hostNames.arguments), 'utf8')).split('\0')
    expect(args.join(' ')).toContain(`--ro-bind ${moved} ${insidePaths.bundles}`)
    const after = seen(await worker.run(script.replaceAll('\\\n', '')))
    const isOfRelease = (line?: string) => /supervisor|\.js|\.cjs|total|bundles| berth-| gh/.test(line ?? '')
    expect(after.filter(line => !isOfRelease(line))).toEqual(before.filter(line => !isOfRelease(line)))
    expect(after.join()).toContain('shown')
  })

  it('may come from the pool, and be started by another process', async () => {
    const agent = { command, env, cwd: insidePaths.workspace, line: ':' }
    const objects = await mkdtemp(join(tmpdir(), 'berth-objects-'))
    clean.push(() => rm(objects, { recursive: true, force: true }))
    await chmod(objects, 0o755)
    await writeFile(join(objects, 'shown'), 'objects ')
    const pool = { least: 1, most: 1, command: supervisor, agent }
    const options = await newOptions({ pool, objects: () => objects })
    const driver = await open(options)
    await driver.prepared()
    const project = join(options.dataDir, 'project')
    await mkdir(project)
    await writeFile(join(project, 'shown'), 'project')
    const owner = driver.lowerOwner()
    const canShow = owner !== null
    if (canShow) for (const path of [project, join(project, 'shown')]) await chown(path, owner.uid, owner.uid)
    const lower = { places: { project: [project] }, baselines: {} } as const
    const [mark = ''] = await marks(options)
    await driver.create(specOf('one', canShow ? { lower, objects: 'mirror' } : {}))
    expect(await marks(options)).toContain(mark)
    const worker = new Worker(driver, 'one')
    await worker.run('echo kept > file')
    expect(await worker.park()).toBe(true)
    const { log: _, pool: __, objects: ___, ...plain } = options
    const driverUrl = new URL('./create-driver.ts', import.meta.url).href
    const program = `
      const { createBubblewrapDriver } = await import(${JSON.stringify(driverUrl)})
      const log = { info() {}, warn: console.error, error: console.error }
      const driver = await createBubblewrapDriver({ ...${JSON.stringify(plain)}, log })
      process.stdout.write(String(await driver.thaw('one')), () => process.kill(process.pid, 'SIGKILL'))`
    await using child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [answer] = await Promise.all([text(child.stdout), once(child, 'exit')])
    expect(answer).toBe('true')
    // Whoever started it is dead before anybody has attached.
    expect(await driver.thaw('one')).toBe(false)
    const shown = canShow ? `cat ${insidePaths.objects}/shown project/shown; echo; touch project/new;` : ''
    const records = await worker.run(`${shown} cat file`)
    expect(records).toMatch(/^o \d+ kept$/m)
    if (canShow) expect(records).toMatch(/^o \d+ objects project$/m)
    expect(records).not.toMatch(/^e /m)
    expect(await marks(options)).toContain('one')
  })

  it('is parked and started over the line to its host, also over a new line', async () => {
    const options = await newOptions()
    const parts = {
      content: { runtime: () => ({ mounts: [] }), installed: () => [] },
      using: () => undefined,
      gone: () => undefined,
    }
    const calls = hostCalls({ ...parts, driver: await open(options), services: () => ({}), boot: 'one' } as never)
    const server = createServer(socket => void serveLine(socket, calls)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    clean.push(async () => void server.close())
    // bound: nobody waits for a line that is not there
    const host = new RemoteHost({ awayMs: 20_000, log: { warn: () => undefined } })
    const dial = async () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      clean.push(async () => void socket.destroy())
      await once(socket, 'connect')
      await host.take(new Line(socket, { errors: driverErrors, answer: host.answer }), async () => undefined)
    }
    await dial()
    const driver = createRemoteDriver(host, { commits: async () => [], write: async () => undefined })
    await driver.create({ ...specOf('one'), runtimeId: 'shell' })
    const worker = new Worker(driver, 'one')
    await worker.run(`echo kept > /workspace/file; ${serving}`)
    expect(await worker.park()).toBe(false)
    await worker.run('pkill sleep')
    await worker.retire()
    expect(await waitUntil(() => driver.park('one', 1), 10_000)).toBe(true)
    expect([await driver.stateOf('one'), await marks(options)]).toEqual(['parked', []])
    await dial()
    expect(await driver.thaw('one')).toBe(true)
    expect(await worker.run('cat /workspace/file')).toMatch(/^o \d+ kept$/m)
    await driver.destroy('one')
    expect(await mountsBelow(options.dataDir)).toEqual([])
  })

  it('is started once by any number of processes', async () => {
    const options = await newOptions()
    const drivers = [await open(options), await open(options), await open(options)]
    const [driver] = drivers
    if (driver === undefined) throw new Error()
    await driver.create(specOf('one'))
    const worker = new Worker(driver, 'one')
    await worker.run('echo')
    expect(await worker.park()).toBe(true)
    const woken = await Promise.all(drivers.map(one => one.thaw('one')))
    expect(woken.toSorted()).toEqual([false, false, true])
    expect((await markedProcesses(instanceOf(options.dataDir).tag)).filter(({ first }) => first)).toHaveLength(1)
    expect(await worker.run('echo again')).toMatch(/^o \d+ again$/m)
  })

  it('runs on if the process that parked it dies before its end, and is gone at its own', async () => {
    const options = await newOptions()
    const driver = await open(options)
    await driver.create(specOf('one'))
    const worker = new Worker(driver, 'one')
    await worker.run('echo')
    expect(await worker.park()).toBe(true)
    const note = await readFile(noteOf(options, 'one'))
    await driver.thaw('one')
    const door = await openSupervisorDoor(options.dataDir)
    for (const touch of ['thaw', 'freeze'] as const) {
      await writeFile(noteOf(options, 'one'), note)
      expect(await driver.stateOf('one')).toBe('running')
      expect(await door.isStopped('one')).toBe(false)
      expect(await driver[touch]('one')).toBe(touch === 'thaw' ? false : undefined)
      expect(await readdir(filesOf(options, 'one').host)).not.toContain(hostNames.parked)
      await driver.thaw('one')
    }
    expect(await worker.run('echo again')).toMatch(/^o \d+ again$/m)
    for (const { pid } of await markedProcesses(instanceOf(options.dataDir).tag)) process.kill(pid, 'SIGKILL')
    expect(await waitUntil(async () => (await driver.stateOf('one')) === 'gone', 10_000)).toBe(true)
  })

  it('is gone after an end of the host, or of its claim of a user', async () => {
    const options = await newOptions()
    const driver = await open(options)
    await driver.create(specOf('one'))
    const worker = new Worker(driver, 'one')
    await worker.run('echo')
    expect(await worker.park()).toBe(true)
    expect(await (await openSupervisorDoor(options.dataDir)).isStopped('one')).toBe(true)
    const note = await readFile(noteOf(options, 'one'), 'utf8')
    await writeFile(noteOf(options, 'one'), note.replace(/"place":"[^ ]+/, '"place":"another-boot'))
    expect(await driver.stateOf('one')).toBe('gone')
    expect(await driver.thaw('one')).toBe(false)

    await driver.create(specOf('two'))
    const second = new Worker(driver, 'two')
    await second.run('echo')
    expect(await second.park()).toBe(true)
    const { uid } = JSON.parse(await readFile(join(filesOf(options, 'two').host, hostNames.record), 'utf8'))
    const claims = process.getuid?.() === 0 ? '/run/berth/uids' : join(options.dataDir, 'uids')
    await unlink(join(claims, String(uid)))
    expect(await driver.stateOf('two')).toBe('gone')
    expect(await driver.thaw('two')).toBe(false)
    await expect(driver.attach('two')).rejects.toBeInstanceOf(SandboxGoneError)
  })

  it('is gone if it cannot be started', async () => {
    const options = await newOptions({ log: { ...log, error: () => undefined } })
    const driver = await open(options)
    await driver.create(specOf('one'))
    const worker = new Worker(driver, 'one')
    await worker.run('echo')
    expect(await worker.park()).toBe(true)
    await writeFile(join(filesOf(options, 'one').host, hostNames.arguments), '--no-such-option')
    expect(await driver.thaw('one')).toBe(false)
    expect(await driver.stateOf('one')).toBe('gone')
    expect(await marks(options)).toEqual([])
  })
})
