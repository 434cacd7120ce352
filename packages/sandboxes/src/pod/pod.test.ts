import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { workspaceLimits } from '@berth/core/checkpoints/limits.ts'
import { restoreTree } from '@berth/core/checkpoints/restore-tree.ts'
import { sealTree } from '@berth/core/checkpoints/seal-tree.ts'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import { defaultBounds } from '../bubblewrap/options.ts'
import { type SandboxDriver, type SandboxEgress, SandboxGoneError, type SandboxSpec } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { Line } from '../line/line.ts'
import { takeUpgrade } from '../line/upgrade.ts'
import { type Cgroups, findCgroups } from '../linux/cgroups.ts'
import { createRemoteDriver, renewProxies } from '../remote/create-driver.ts'
import { LentProxies } from '../remote/lent-proxies.ts'
import { RemoteHost } from '../remote/remote-host.ts'
import { driverErrors } from '../remote/wire.ts'
import { sandboxDriverContract } from '../testing/contract-suite.ts'
import { PlayedCluster } from '../testing/played-cluster.ts'
import { layOutImage, PlayedPod } from '../testing/played-pod.ts'
import { treeOf } from '../tree.ts'
import { createPodDriver } from './create-driver.ts'

const MIB = 1024 ** 2
const bounds = { ...defaultBounds, memoryBytes: 256 * MIB, processes: 80, cpus: 1, diskBytes: 64 * MIB }
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Creates the sandbox in a host's process that is killed right after. */
async function createThenKill(pod: PlayedPod, spec: SandboxSpec): Promise<void> {
  const driver = new URL('./create-driver.ts', import.meta.url).href
  const program = `
    const { createPodDriver } = await import(${JSON.stringify(driver)})
    const log = { info() {}, warn: console.error, error: console.error }
    const driver = await createPodDriver({ dataDir: ${JSON.stringify(pod.dataDir)}, log })
    await driver.create(${JSON.stringify(spec)})
    process.stdout.write('created')
    setInterval(() => {}, 1000)`
  await using child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  await child[Symbol.asyncDispose]()
  if (String(output) !== 'created') throw new Error('the host could not create the sandbox')
}

/** A supervisor's stand-in: it runs what it is sent, and answers with what that says. */
const standIn = `
  process.on('uncaughtException', () => {})
  require('node:net').createServer({ allowHalfOpen: true }, socket => {
    let script = ''
    socket.on('data', part => { script += part })
    socket.on('end', () => require('node:child_process').exec(script, (_, out, errors) => socket.end(out + errors)))
  }).listen({ fd: 3 })`

let root = ''
let groups: Cgroups

async function openRoot(): Promise<void> {
  root = await mkdtemp(join(tmpdir(), 'berth-pods-'))
  await chmod(root, 0o755)
  await layOutImage(root)
  const found = await findCgroups(`berth-pods-${process.pid}`)
  if (found === undefined) throw new Error('no cgroups to play pods with')
  groups = found
}

if (process.getuid?.() !== 0) {
  describe.skip('pods: only root can play users', () => it('is not tested', () => undefined))
} else {
  beforeAll(openRoot)
  afterAll(async () => {
    await groups.tidy()
    await rm(root, { recursive: true, force: true })
  })

  sandboxDriverContract('pods that are played', async () => {
    const proxies = new LentProxies(openNetwork(), log)
    const egress = (leaseId: string, given: SandboxEgress): SandboxEgress => {
      proxies.allow(leaseId, given)
      return {
        ...given,
        proxy: async () => {
          const [near, far] = duplexPair()
          proxies.take(leaseId, given, far)
          return near
        },
      }
    }
    const open = (pod: PlayedPod) => createPodDriver({ dataDir: pod.dataDir, log })
    const cluster = new PlayedCluster({ root, image: root, groups, bounds, open, egress })
    await cluster.ready()
    const driver = cluster.driver()
    return {
      driver,
      node: insidePaths.node,
      bounds,
      hostPaths: [root, import.meta.dirname, '/root', '/sys/fs/cgroup', '/var/lib/berth/host'],
      shows: { sys: false },
      enforces: {
        cpu: groups.controllers.has('cpu'),
        wholeMemory: groups.controllers.has('memory'),
        exactDisk: false,
      },
      lacks: { users: true, confinement: true, coveredBundle: true },
      async createInProcessThatIsKilled(spec) {
        const { pod, driver: idle } = await cluster.take(spec)
        await idle[Symbol.asyncDispose]()
        await createThenKill(pod, spec)
        cluster.put(spec.leaseId, { pod, driver: await open(pod) })
      },
      async dispose() {
        await driver[Symbol.asyncDispose]()
        proxies[Symbol.dispose]()
      },
    }
  })

  describe('a pod that waits for its lease', () => {
    const env = { PATH: '/usr/bin:/bin' }
    /** Notes that it has begun, and says how many of its kind live: its own is one once it bears the name. */
    const agent = [
      ...['bash', '-c'],
      `echo $$ >> /workspace/begun; sleep 1000 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done
      while read -r line; do echo "$line $$ $(pgrep -c -x sleep)"; done`,
    ]
    const begun = async () => (await readFile(join(pod.volume('workspace'), 'begun'), 'utf8')).trim().split('\n')
    const command = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`]
    let pod: PlayedPod
    let driver: SandboxDriver
    let count = 0
    afterEach(async () => {
      await driver[Symbol.asyncDispose]()
      await pod.remove()
    })

    /** @param prepared parts that are to stand ready */
    const wait = async (prepared: readonly string[]) => {
      const name = join(root, `waiting-${count++}`)
      await mkdir(name)
      pod = new PlayedPod(name, root, groups)
      await pod.make(bounds)
      const order = { command: prepared, env, cwd: insidePaths.workspace, line: 'begin' }
      const ready = { command, fileSizeBytes: bounds.fileSizeBytes, agent: order }
      const opening = createPodDriver({ dataDir: pod.dataDir, log, ready })
      for (const part of ['agent', 'files'] as const) await pod.start(part, bounds)
      driver = await opening
    }
    /** Makes the sandbox and starts its agent, as a worker does. @returns the agent's first line, and its process */
    const startIn = async (changes: Partial<SandboxSpec> = {}) => {
      const leaseId = `lease-${count}`
      await driver.create({ leaseId, command, bounds, mounts: [], egress: { reach: [] }, ...changes })
      const supervisor = await driver.attach(leaseId)
      const send = (message: object) => supervisor.write(`${JSON.stringify(message)}\n`)
      send({ hello: { fence: 1, from: 0 } })
      send({ start: { key: 'start/1', command: agent, env, cwd: insidePaths.workspace } })
      send({ in: { key: 'initialize/1', line: 'begin' } })
      let output = ''
      for await (const chunk of supervisor) {
        output += chunk
        const [, process, sleepers] = /^o \d+ begin (\d+) (\d+)$/m.exec(output) ?? []
        if (process !== undefined) return { process, alive: Number(sleepers) }
      }
      throw new Error(`the agent did not answer: ${output}`)
    }

    it('has a supervisor and an agent that have begun, and they become those of the lease', async () => {
      await wait(agent)
      const [process] = await begun()
      expect(await startIn()).toEqual({ process, alive: 1 })
      expect(await begun()).toEqual([process])
    })

    async function* engine() {
      yield Buffer.from('an engine')
    }
    it.each<readonly [string, () => Partial<SandboxSpec>]>([
      ['bounds', () => ({ bounds: { ...bounds, fileSizeBytes: 1024 ** 2 } })],
      ['an engine', () => ({ engine: engine() })],
    ])(
      'begins anew for a lease that has %s of its own, and nothing is left of what stood ready',
      async (_, changes) => {
        await wait(agent)
        const [before] = await begun()
        const { process, alive } = await startIn(changes())
        expect(alive).toBe(1)
        expect(await begun()).toEqual([before, process])
      },
    )

    it('serves its lease as well if nothing could be made ready', async () => {
      await wait(['/bin/false'])
      const { process } = await startIn()
      expect(await begun()).toEqual([process])
    })
  })

  describe('a pod whose host dials a worker', () => {
    const clean: (() => unknown)[] = []
    let pod: PlayedPod
    let driver: SandboxDriver
    let url = ''
    let count = 0
    beforeAll(async () => {
      const server = createServer((_, response) => response.end('from the network of the worker'))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      clean.push(() => server.close())
      const remote = new RemoteHost({ awayMs: 30_000, log, lends: openNetwork(), hasNoNetwork: true })
      let epoch = 0
      server.on('upgrade', (_, socket, head) => {
        epoch += 1
        takeUpgrade(socket, head, { 'Berth-Epoch': String(epoch), 'Berth-Lease-Max-Ms': '600000' })
        const line = new Line(socket, { errors: driverErrors, answer: remote.answer })
        remote.take(line, renewProxies(remote)).catch(() => undefined)
      })
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      driver = createRemoteDriver(remote, { commits: async () => [], write: async () => undefined })
    })
    afterAll(async () => {
      await driver[Symbol.asyncDispose]()
      for (const one of clean.splice(0)) await one()
    })
    afterEach(() => pod.remove())

    const startHost = () =>
      pod.startHost('packages/server/dist/host.js', {
        BERTH_COMPUTE: 'pod',
        BERTH_DATA_DIR: '/var/lib/berth',
        BERTH_HOST_URL: url,
        BERTH_HOST_TOKEN: 'a-token-of-this-test',
        BERTH_HOST_CAPACITY: '1',
        BERTH_LOG_LEVEL: 'error',
      })
    const startPod = async () => {
      const name = join(root, `dialling-${count++}`)
      await mkdir(name)
      pod = new PlayedPod(name, root, groups)
      await pod.make(bounds)
      await startHost()
      for (const part of ['agent', 'files'] as const) await pod.start(part, bounds)
    }
    const lease = async (changes: Partial<SandboxSpec> = {}) => {
      const leaseId = `lease-${count}`
      const command = [insidePaths.closedNode, '-e', standIn]
      await driver.create({ leaseId, command, bounds, mounts: [], egress: { reach: [url] }, ...changes })
      return leaseId
    }
    const ask = async (leaseId: string, script: string) => {
      const stream = await driver.attach(leaseId)
      stream.end(script)
      return (await text(stream)).trim()
    }
    const through = (target: string) =>
      `curl -s --unix-socket /run/berth/proxy.sock --request-target ${target}/ http://x/`

    it('reaches by the worker what its policy allows, also after its host was killed, and nothing at rest', async () => {
      await startPod()
      const extension = join(root, 'extension')
      await mkdir(extension)
      await writeFile(join(extension, 'file'), 'of an extension')
      const one = await lease({ extensions: [{ id: 'ext', directory: extension, content: 'digest-of-it' }] })
      expect(await ask(one, 'cat /opt/extensions/ext/file')).toBe('of an extension')
      expect(await ask(one, through(url))).toBe('from the network of the worker')
      expect(await ask(one, through('http://127.0.0.1:1'))).toContain('may not reach')
      await ask(one, 'setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo kept > /workspace/file')
      await pod.kill('host')
      await startHost()
      // The worker may not have noticed yet that the line of before is broken.
      const left = () => ask(one, 'cat /workspace/file; pgrep -c -x sleep')
      await expect.poll(left, { timeout: 60_000 }).toBe('kept\n1')
      await expect.poll(() => ask(one, through(url)), { timeout: 60_000 }).toBe('from the network of the worker')
      await driver.writeInputs(one, 0, [{ name: 'a', content: Buffer.from('input') }])
      expect(await ask(one, 'cat /workspace/.berth/inputs/0/a')).toBe('input')
      await driver.freeze(one)
      expect(await driver.stateOf(one)).toBe('frozen')
      expect(await driver.thaw(one)).toBe(true)
      expect(await ask(one, through(url))).toBe('')
    })

    it('keeps its supervisor from the programs of its sandbox, which cannot pass for a part of it either', async () => {
      await startPod()
      const one = await lease()
      // Neither pattern is found in the command line that holds it.
      const own = `pgrep '[b]erth-agent'; pgrep -f '[c]losed/node -e'`
      const listing = `for p in $(${own}); do ls /proc/$p/fd; cat /proc/$p/environ; done 2>&1 | sed 's/.*: //' | sort | uniq -c`
      expect((await ask(one, listing)).trim()).toBe('4 Permission denied')
      expect(await ask(one, 'find / -type s 2>/dev/null | sort')).toBe('/run/berth/part.sock\n/run/berth/proxy.sock')
      const pretend = `
        const { connect } = require('node:net')
        const message = Buffer.from(JSON.stringify({ part: 'agent', key: '0'.repeat(64) }))
        const length = Buffer.alloc(4)
        length.writeUInt32BE(message.length)
        const socket = connect('/run/berth/part.sock', () => socket.write(Buffer.concat([length, message])))
        socket.on('error', () => undefined)
        socket.on('close', () => console.log('refused'))
        socket.resume()`
      await writeFile(join(pod.volume('workspace'), 'pretend.cjs'), pretend)
      expect(await ask(one, `timeout 20 ${insidePaths.node} /workspace/pretend.cjs`)).toBe('refused')
      expect(await ask(one, 'echo still here')).toBe('still here')
    })

    it('seals its files, those that the agent has closed as well, and restores them in another pod', async () => {
      await startPod()
      const blobs = await FileBlobs.open(join(root, 'blobs'))
      const sealing = { blobs, limits: workspaceLimits, skip: ['.berth'] }
      const one = await lease()
      await ask(
        one,
        'cd /workspace; mkdir open closed; echo a > open/file; echo b > closed/file; chmod 0 open/file closed',
      )
      const sealed = await sealTree({ ...sealing, tree: treeOf(driver, one, 'workspace') })
      if (sealed.kind !== 'sealed') throw new Error('the tree is over a cap')
      const modes = 'cd /workspace; stat -c %a open/file closed; chmod 700 open/file closed; cat open/file closed/file'
      expect(await ask(one, modes)).toBe('0\n0\na\nb')
      await pod.remove()
      await startPod()
      const other = await lease()
      const { manifest } = sealed
      await restoreTree({ ...sealing, manifest, tree: treeOf(driver, other, 'workspace') })
      expect(await ask(other, modes)).toBe('0\n0\na\nb')
    })

    it('has lost its lease when the container of the sandbox ends, and takes no other', async () => {
      await startPod()
      const one = await lease()
      await pod.kill('agent')
      await expect(driver.attach(one)).rejects.toBeInstanceOf(SandboxGoneError)
      await pod.start('agent', bounds)
      expect(await driver.stateOf(one)).toBe('gone')
      await expect(driver.attach(one)).rejects.toBeInstanceOf(SandboxGoneError)
      expect(await driver.list()).toEqual([one])
      // What it left can still be sealed.
      expect(await driver.hasDirectory(one, 'workspace', ['.berth'])).toBe(true)
      await driver.destroy(one)
      expect(await driver.list()).toEqual([])
      await expect(lease({ leaseId: 'another' })).rejects.toThrow(/has had its lease/)
    })
  })
}
