import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { emptyTreeOid } from '@berth/contract'
import { mirrorPacks } from '@berth/core/repositories/mirror-packs.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import { defaultBounds } from '@berth/sandboxes/bubblewrap/options.ts'
import type { SandboxDriver, SandboxEgress, SandboxSpec } from '@berth/sandboxes/driver.ts'
import { rulesOf, serveEgressProxy } from '@berth/sandboxes/egress/proxy.ts'
import { Line } from '@berth/sandboxes/line/line.ts'
import { FarError } from '@berth/sandboxes/line/line-error.ts'
import { refuseUpgrade, takeUpgrade } from '@berth/sandboxes/line/upgrade.ts'
import { createRemoteDriver, renewProxies } from '@berth/sandboxes/remote/create-driver.ts'
import { RemoteHost } from '@berth/sandboxes/remote/remote-host.ts'
import { driverErrors } from '@berth/sandboxes/remote/wire.ts'
import { authorities, EdgeStage, secret } from '@berth/sandboxes/testing/edge-clients.ts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { HostRefused } from './dial-service.ts'
import { openHostContent } from './host-content.ts'
import { HostMemory } from './host-memory.ts'
import { runFarHost } from './run-far-host.ts'

const run = promisify(execFile)
const log = { info: () => undefined, warn: () => undefined }
const clean: (() => unknown)[] = []
afterEach(async () => {
  for (const one of clean.splice(0).toReversed()) await one()
})

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'berth-far-'))
  clean.push(() => rm(path, { recursive: true, force: true }))
  return path
}

/** A driver that makes nothing and remembers what it was told. */
class Recorder {
  readonly specs: SandboxSpec[] = []
  readonly served = new Map<string, SandboxEgress>()
  readonly destroyed: string[] = []
  readonly driver = {
    kind: 'bubblewrap',
    describe: () => ['all: pretended'],
    list: async () => this.specs.map(({ leaseId }) => leaseId).filter(id => !this.destroyed.includes(id)),
    create: async (spec: SandboxSpec) => {
      if (spec.command[0] === 'fail') throw new TypeError('not this command')
      this.specs.push(spec)
    },
    serveProxy: async (leaseId: string, egress: SandboxEgress) => void this.served.set(leaseId, egress),
    freeze: async () => undefined,
    destroy: async (leaseId: string) => void this.destroyed.push(leaseId),
  } as unknown as SandboxDriver
}

async function listening(server: Server): Promise<URL> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  clean.push(() => server.close())
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

/** A service with one host, both in this process. */
async function connected(recorder = new Recorder(), capacity = 10, lends?: Network) {
  const [mirrors, dataDir] = [await directory(), await directory()]
  const host = new RemoteHost({ awayMs: 5000, log, ...(lends && { lends }) })
  const lines: Line[] = []
  const epochs = { of: 'first', next: 1 }
  const server = createServer()
  server.on('upgrade', (_, socket, head) => {
    takeUpgrade(socket, head, {
      ...{ 'Berth-Admission': epochs.of, 'Berth-Epoch': String(epochs.next++), 'Berth-Lease-Max-Ms': '600000' },
    })
    const line = new Line(socket, { errors: driverErrors, answer: host.answer })
    lines.push(line)
    host.take(line, renewProxies(host)).catch(() => undefined)
  })
  const url = await listening(server)
  const start = () => {
    const memory = new HostMemory(dataDir)
    const content = openHostContent({
      dataDir,
      contentBytes: 1024 ** 3,
      inUse: () => memory.contents(),
      runtime: id => (id === 'shell' ? { mounts: ['/opt/here'], directory: '/opt/installed' } : null),
      installed: () => ['some'],
    })
    const stopping = new AbortController()
    const self = { id: 'one', token: () => 'x', capacity, pool: 'p', labels: {}, release: '', driver: 'bubblewrap' }
    const pauseMs = { least: 5, most: 20 }
    const over = runFarHost({ url, self, memory, log, driver: recorder.driver, content, pauseMs }, stopping.signal)
    clean.push(async () => {
      stopping.abort()
      await over.catch(error => {
        if (!(error instanceof HostRefused)) throw error
      })
    })
    return { stopping, over, memory }
  }
  const there = start()
  const driver = createRemoteDriver(host, mirrorPacks({ directoryOf: id => join(mirrors, `${id}.git`, 'objects') }))
  clean.push(() => driver[Symbol.asyncDispose]())
  await host.line()
  return { driver, host, recorder, dataDir, mirrors, lines, epochs, there, start }
}

const spec = (leaseId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec => ({
  ...{ leaseId, command: ['true'], bounds: defaultBounds, mounts: [], egress: { reach: [] } },
  ...changes,
})

describe('a host that dials its service', () => {
  it('finds mounts by the id of a runtime, and is sent no path of the worker', async () => {
    const { driver, recorder } = await connected()
    await driver.create(spec('one', { runtimeId: 'shell', mounts: ['/of/the/worker'], runtime: '/of/the/worker' }))
    expect(recorder.specs[0]).toMatchObject({ mounts: ['/opt/here'], runtime: '/opt/installed' })
    await expect(driver.create(spec('two', { runtimeId: 'other' }))).rejects.toThrow(/cannot run the runtime other/)
    await expect(driver.create(spec('three', { mounts: ['/of/the/worker'] }))).rejects.toBeInstanceOf(TypeError)
    await expect(driver.create(spec('four', { command: ['fail'] }))).rejects.toThrow(new TypeError('not this command'))
  })

  it('is sent each extension once, and the engine as bytes', async () => {
    const { driver, recorder, lines } = await connected()
    const from = await directory()
    await mkdir(join(from, 'skills/a'), { recursive: true })
    await writeFile(join(from, 'skills/a/SKILL.md'), 'how')
    await writeFile(join(from, 'empty'), '')
    await writeFile(join(from, 'run.sh'), 'x'.repeat(300_000), { mode: 0o755 })
    const ask = vi.spyOn(lines[0] as Line, 'ask')
    const extensions = [{ id: 'an.extension', directory: from, content: 'abc-content' }]
    for (const leaseId of ['one', 'two']) await driver.create(spec(leaseId, { extensions }))
    expect(ask.mock.calls.filter(([method]) => method === 'takeContent')).toHaveLength(1)
    const [shown] = recorder.specs[1]?.extensions ?? []
    expect(shown?.directory).not.toContain(from)
    expect(await readFile(join(shown?.directory ?? '', 'skills/a/SKILL.md'), 'utf8')).toBe('how')
    expect((await stat(join(shown?.directory ?? '', 'run.sh'))).mode & 0o777).toBe(0o555)
    expect((await stat(join(shown?.directory ?? '', 'run.sh'))).size).toBe(300_000)
    let engine = ''
    recorder.driver.create = async one => {
      for await (const part of one.engine ?? []) engine += Buffer.from(part).toString()
    }
    const parts = async function* () {
      for (const part of ['one', 'two']) yield Buffer.from(part)
    }
    await driver.create(spec('three', { engine: parts() }))
    expect(engine).toBe('onetwo')
  })

  it('is sent the objects that it has not, as a thin pack', async () => {
    const { driver, recorder, mirrors, dataDir } = await connected()
    const [work, mirror] = [await directory(), join(mirrors, 'm1.git')]
    const git = async (...args: string[]) =>
      (await run('git', ['-C', work, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args])).stdout.trim()
    await git('init', '-q', '-b', 'main')
    await run('git', ['init', '-q', '--bare', mirror])
    const commit = async (content: string) => {
      await writeFile(join(work, 'file'), content)
      await git('add', '.')
      await git('commit', '-q', '-m', 'one')
      const oid = await git('rev-parse', 'HEAD')
      await git('push', '-q', mirror, `HEAD:refs/berth/base/${oid}`)
      return oid
    }
    const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n} ${Math.sin(n)}`).join('\n')
    const there = join(dataDir, 'mirrors/m1.git')
    for (const more of ['', '\nmore']) {
      const oid = await commit(lines + more)
      await driver.create(spec(`lease${more.length}`, { objects: 'm1' }))
      expect(recorder.specs.at(-1)?.objects).toBe('m1')
      const { stdout } = await run('git', ['-C', there, 'show', `${oid}:file`], { maxBuffer: 10 ** 7 })
      expect(stdout).toBe(lines + more)
      await run('git', ['-C', there, 'fsck', '--connectivity-only', oid])
    }
    // A checkout names the tags of its history, also one that was made on a commit which the host has.
    await git('tag', '-a', '-m', 'first', 'v1', 'HEAD~1')
    await git('push', '-q', mirror, 'v1')
    await driver.create(spec('again', { objects: 'm1' }))
    await run('git', ['-C', there, 'cat-file', 'tag', await git('rev-parse', 'v1')])
    await driver.create(spec('and-again', { objects: 'm1' }))
    await expect(driver.create(spec('bad', { objects: '../m1' }))).rejects.toBeInstanceOf(TypeError)
  })

  it('is sent the empty tree of a repository without a commit, and its first commit later', async () => {
    const { driver, mirrors, dataDir } = await connected()
    const [mirror, there] = [join(mirrors, 'm2.git'), join(dataDir, 'mirrors/m2.git')]
    await run('git', ['init', '-q', '--bare', mirror])
    const git = async (...args: string[]) =>
      (await run('git', ['-C', mirror, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args])).stdout.trim()
    await git('hash-object', '-t', 'tree', '-w', '/dev/null')
    await git('update-ref', `refs/berth/base/${emptyTreeOid}`, emptyTreeOid)
    await driver.create(spec('empty', { objects: 'm2' }))
    expect((await run('git', ['-C', there, 'ls-tree', `refs/berth/base/${emptyTreeOid}`])).stdout).toBe('')
    const oid = await git('commit-tree', '-m', 'first', emptyTreeOid)
    await git('update-ref', `refs/berth/base/${oid}`, oid)
    await driver.create(spec('first', { objects: 'm2' }))
    await run('git', ['-C', there, 'fsck', '--connectivity-only', oid])
    await driver.create(spec('empty-again', { objects: 'm2' }))
  })

  it("passes a sandbox's requests to the worker as they came, and streams the answer", async () => {
    const { driver, recorder } = await connected()
    const seen: string[] = []
    await driver.create(
      spec('one', {
        egress: {
          reach: [],
          gateway: {
            async answer(incoming, outgoing, target) {
              seen.push(`${incoming.method} ${target} ${incoming.headers['x-own']} ${await text(incoming)}`)
              outgoing.writeHead(201, { 'X-Answer': 'yes' })
              outgoing.write('a')
              outgoing.end('b')
            },
          },
        },
      }),
    )
    const proxy = createServer((incoming, outgoing) => {
      void recorder.specs[0]?.egress.gateway?.answer(incoming, outgoing, incoming.url ?? '')
    })
    const url = await listening(proxy)
    const ask = async () => {
      const sent = request(new URL('/v1/messages?a=b', url), { method: 'POST', headers: { 'X-Own': 'mine' } })
      sent.end('body')
      const [answer] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
      return `${answer.statusCode} ${answer.headers['x-answer']} ${await text(answer)}`
    }
    expect(await Promise.all([ask(), ask()])).toEqual(['201 yes ab', '201 yes ab'])
    expect(seen).toEqual(Array(2).fill('POST /v1/messages?a=b mine body'))
    // At rest nobody answers for the sandbox, and the host cannot speak for another.
    await driver.freeze('one')
    expect(await ask()).toMatch(/^503/)
    expect(recorder.specs[0]?.egress.service).toBeUndefined()
  })

  it('leads public connections of a sandbox with secrets to the worker, and is sent neither value nor key', async () => {
    await using stage = await EdgeStage.open()
    const name = 'api.example.com'
    await stage.host(name, (incoming, response) => response.end(incoming.headers.authorization))
    const { driver, recorder, lines } = await connected(new Recorder(), 10, await stage.network())
    const ask = vi.spyOn(lines[0] as Line, 'ask')
    const open = { reach: [], publicHosts: { ports: [80, 443], refused: [] } }
    const trust = await authorities.lease.trust()
    await driver.create(spec('one', { egress: { ...open, secrets: [secret], authority: authorities.lease }, trust }))
    await driver.create(spec('two', { egress: open }))
    const [one, two] = recorder.specs
    expect([one?.trust, two?.trust]).toEqual([trust, undefined])
    expect([one?.egress.isLent, two?.egress.isLent]).toEqual([true, false])
    for (const text of [secret.value, secret.placeholder, 'PRIVATE'])
      expect(JSON.stringify(ask.mock.calls)).not.toContain(text)
    if (one === undefined || two === undefined) throw new Error('no sandboxes')
    // As the host's own driver serves it.
    await using _own = await serveEgressProxy({ dir: stage.dir, name: 'own', log, ...rulesOf(one.egress) })
    stage.path = join(stage.dir, 'own')
    const headers = ['Authorization', `Bearer ${secret.placeholder}`]
    expect((await stage.ask(name, '/', { headers })).body).toBe(`Bearer ${secret.value}`)
    const stream = await two.egress.proxy?.(new AbortController().signal)
    stream?.end()
    expect(stream && (await text(stream))).toMatch(/^HTTP\/1\.1 503 /)
  })

  it('dials again when its line is cut, is used at once, and serves its proxies again only as a new process', async () => {
    const { driver, recorder, lines, there, start } = await connected()
    await driver.create(spec('one'))
    lines[0]?.destroy(new Error('cut'))
    expect(await driver.list()).toEqual(['one'])
    expect(lines).toHaveLength(2)
    expect(recorder.served.size).toBe(0)
    there.stopping.abort()
    await there.over
    start()
    expect(await driver.list()).toEqual(['one'])
    expect([...recorder.served.keys()]).toEqual(['one'])
  })

  it('takes no connection with a number that is not higher', async () => {
    const { driver, lines, epochs, there } = await connected()
    epochs.next = 1
    lines[0]?.destroy(new Error('cut'))
    expect(await driver.list()).toEqual([])
    expect(there.memory.epoch).toBe(2)
    expect(lines.length).toBeGreaterThan(2)
  })

  it('begins anew with another token, unless it has sandboxes of the one before', async () => {
    const { driver, host, epochs, there, start } = await connected()
    await driver.create(spec('one'))
    there.stopping.abort()
    await there.over
    epochs.of = 'second'
    epochs.next = 1
    await expect(start().over).rejects.toThrow(/has sandboxes of the host first: drain/)
    epochs.of = 'first'
    epochs.next = 5
    const back = start()
    await host.line()
    await driver.destroy('one')
    back.stopping.abort()
    await back.over
    epochs.of = 'second'
    epochs.next = 1
    const { memory } = start()
    await vi.waitFor(() => expect([memory.admission, memory.epoch]).toEqual(['second', 1]), 20_000)
  })

  it('holds no more sandboxes than it may', async () => {
    const { driver } = await connected(new Recorder(), 2)
    await driver.create(spec('one'))
    await expect(driver.create(spec('bad', { command: ['fail'] }))).rejects.toBeInstanceOf(TypeError)
    await driver.create(spec('two'))
    await expect(driver.create(spec('three'))).rejects.toThrow(FarError)
    await expect(driver.create(spec('three'))).rejects.toThrow(/as many as it may/)
    await driver.destroy('one')
    await driver.create(spec('three'))
  })

  it('ends its sandboxes by itself when the service was silent for longer than a lease lasts', async () => {
    const recorder = new Recorder()
    recorder.specs.push(spec('left'))
    const dataDir = await directory()
    const memory = new HostMemory(dataDir)
    memory.heard(Date.now() - 5_000, { admission: 'one', epoch: 3, leaseMaxMs: 4_000 })
    const self = { id: 'one', token: () => 'x', capacity: 1, pool: 'p', labels: {}, release: '', driver: 'bubblewrap' }
    const stopping = new AbortController()
    const content = openHostContent({
      dataDir,
      contentBytes: 1,
      inUse: () => new Set(),
      runtime: () => null,
      installed: () => [],
    })
    const url = new URL('http://127.0.0.1:1')
    const over = runFarHost({ url, self, memory, log, driver: recorder.driver, content }, stopping.signal)
    await vi.waitFor(() => expect(recorder.destroyed).toEqual(['left']), 20_000)
    stopping.abort()
    await over
    expect(new HostMemory(dataDir).isAbandoned(Date.now())).toBe(true)
    expect(new HostMemory(dataDir).epoch).toBe(3)
  })

  it.runIf(process.getuid?.() === 0)('stays connected and ends sandboxes while its disk is full', async () => {
    const dataDir = await directory()
    await run('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'berth-test', dataDir])
    clean.push(() => run('umount', [dataDir]))
    const memory = new HostMemory(dataDir)
    memory.keep('one', [], 2)
    await run('sh', ['-c', `cat /dev/zero > '${dataDir}/filler' || true`])
    // bound: the test names every time
    memory.heard(1_000, { admission: 'one', epoch: 7, leaseMaxMs: 500 })
    memory.stillHeard(2_000)
    expect([memory.epoch, memory.isAbandoned(2_400), memory.isAbandoned(2_600)]).toEqual([7, false, true])
    memory.forget('one')
    expect(memory.leases).toEqual([])
    // A sandbox that could be forgotten is not made.
    expect(() => memory.keep('two', [], 2)).toThrow(/ENOSPC/)
    await rm(join(dataDir, 'filler'))
    memory.keep('two', [], 2)
    const again = new HostMemory(dataDir)
    expect([again.epoch, again.leases]).toEqual([7, ['two']])
  })

  it('stops dialling a service that refuses it', async () => {
    const server = createServer()
    server.on('upgrade', (_, socket) => refuseUpgrade(socket, 401, 'this token is not valid'))
    const url = await listening(server)
    const dataDir = await directory()
    const self = { id: 'one', token: () => 'x', capacity: 1, pool: 'p', labels: {}, release: '', driver: 'bubblewrap' }
    const content = openHostContent({
      dataDir,
      contentBytes: 1,
      inUse: () => new Set(),
      runtime: () => null,
      installed: () => [],
    })
    const memory = new HostMemory(dataDir)
    const over = runFarHost(
      { url, self, memory, log, driver: new Recorder().driver, content },
      new AbortController().signal,
    )
    await expect(over).rejects.toThrow(HostRefused)
    await expect(over).rejects.toThrow(/this token is not valid/)
  })
})
