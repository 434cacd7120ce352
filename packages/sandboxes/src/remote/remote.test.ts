import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from '../../../../script/testing/spawn.ts'
import { defaultBounds } from '../bubblewrap/options.ts'
import { insidePaths } from '../inside-paths.ts'
import { Line } from '../line/line.ts'
import { takeUpgrade } from '../line/upgrade.ts'
import { sandboxDriverContract } from '../testing/contract-suite.ts'
import { createRemoteDriver, renewProxies } from './create-driver.ts'
import { RemoteHost } from './remote-host.ts'
import { driverErrors } from './wire.ts'

const privileged = process.getuid?.() === 0
const bounds = { ...defaultBounds, memoryBytes: 256 * 1024 ** 2, processes: 80, cpus: 1, diskBytes: 64 * 1024 ** 2 }
const log = { warn: () => undefined }
const program = new URL('../../../server/dist/host.js', import.meta.url).pathname

/** The program of a host in another process. */
class HostProgram {
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | null = null

  constructor(url: string, dataDir: string) {
    this.#env = {
      ...process.env,
      BERTH_DATA_DIR: dataDir,
      BERTH_POOL_MOST: '0',
      BERTH_HOST_URL: url,
      BERTH_HOST_TOKEN: 'a-token-of-this-test',
      BERTH_HOST_CAPACITY: '100',
      BERTH_LOG_LEVEL: 'warn',
    }
    delete this.#env['BERTH_TEST_CANARY']
  }

  start(): void {
    this.#child = spawn(process.execPath, [program], { env: this.#env, stdio: ['ignore', 'ignore', 'inherit'] })
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
}

sandboxDriverContract('remote, over the line to a host in another process', async () => {
  const root = await mkdtemp(join(tmpdir(), 'berth-far-'))
  const dataDir = join(root, 'data')
  const host = new RemoteHost({ awayMs: 20_000, log })
  let epoch = 0
  const server = createServer().listen(0, '127.0.0.1')
  server.on('upgrade', (_, socket, head) => {
    epoch += 1
    takeUpgrade(socket, head, { 'Berth-Epoch': String(epoch), 'Berth-Lease-Max-Ms': '600000' })
    void host.take(new Line(socket, { errors: driverErrors, answer: host.answer }), renewProxies(host))
  })
  await once(server, 'listening')
  const there = new HostProgram(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, dataDir)
  there.start()
  await host.line()
  const driver = createRemoteDriver(host, { commits: async () => [], write: async () => undefined })
  return {
    driver,
    node: insidePaths.node,
    bounds,
    hostPaths: [root, dataDir, join(dataDir, 'leases'), import.meta.dirname, '/root', '/var', '/sys/fs/cgroup'],
    shows: { sys: false },
    enforces: { cpu: privileged, wholeMemory: privileged, exactDisk: privileged },
    async createInProcessThatIsKilled(spec) {
      await driver.create(spec)
      await there.stop('SIGKILL')
      there.start()
    },
    async dispose() {
      await there.stop('SIGTERM')
      await driver[Symbol.asyncDispose]()
      server.close()
      await rm(root, { recursive: true, force: true })
    },
  }
})
