import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createBubblewrapDriver } from '../bubblewrap/create-driver.ts'
import { defaultBounds } from '../bubblewrap/options.ts'
import type { EgressSecret, SandboxDriver } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { authorities, type EdgeStage } from './edge-clients.ts'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const bounds = { ...defaultBounds, memoryBytes: 2 * 1024 ** 3, processes: 200, diskBytes: 512 * 1024 ** 2 }

/**
 * A stand-in for the supervisor: it runs each script sent to it, and passes connections to the proxy's port on to the
 * proxy's socket, as the supervisor does.
 */
const standIn = `
  const { connect, createServer } = require('node:net')
  const { spawn } = require('node:child_process')
  process.on('uncaughtException', () => {})
  createServer({ allowHalfOpen: true }, inside => {
    const proxy = connect({ path: '${insidePaths.run}/proxy.sock', allowHalfOpen: true })
    for (const [one, other] of [[inside, proxy], [proxy, inside]])
      one.on('error', () => {}).on('close', () => other.destroy()).pipe(other)
  }).listen(3128, '127.0.0.1')
  createServer({ allowHalfOpen: true }, socket => {
    let script = ''
    socket.on('data', part => { script += part })
    socket.on('end', () => {
      const child = spawn('/bin/bash', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] })
      let out = ''
      child.stdout.on('data', part => { out += part })
      child.stderr.on('data', part => { out += part })
      child.on('exit', (code, signal) => socket.end(JSON.stringify({ code: code ?? signal, out })))
    })
  }).listen({ fd: 3 })`

/** A real sandbox whose proxy leads to the hosts of a test's stage. */
export class EdgeSandbox implements AsyncDisposable {
  readonly driver: SandboxDriver
  readonly leaseId: string
  /** Holds everything that the driver has of the sandbox. */
  readonly root: string

  private constructor(driver: SandboxDriver, leaseId: string, root: string) {
    this.driver = driver
    this.leaseId = leaseId
    this.root = root
  }

  /** @param isTrusted whether programs inside trust the lease's authority */
  static async start(stage: EdgeStage, secrets: readonly EgressSecret[], isTrusted = true): Promise<EdgeSandbox> {
    const root = await mkdtemp(join(tmpdir(), 'berth-edge-sandbox-'))
    const [dataDir, bundlesDir] = [join(root, 'data'), join(root, 'bundles')]
    await mkdir(bundlesDir)
    const driver = await createBubblewrapDriver({
      ...{ dataDir, bundlesDir, nodePath: process.execPath, bounds, log, spares: 0 },
      network: await stage.network(),
    })
    const leaseId = `edge-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
    await driver.create({
      ...{ leaseId, bounds, command: [insidePaths.node, '-e', standIn], mounts: [] },
      egress: {
        reach: [],
        publicHosts: { ports: [80, 443], refused: [] },
        ...{ secrets, authority: authorities.lease, observe: stage.observer },
      },
      ...(isTrusted && { trust: await authorities.lease.trust() }),
    })
    return new EdgeSandbox(driver, leaseId, root)
  }

  /** Runs a script in bash with these variables. */
  async run(
    script: string,
    env: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number | string; readonly out: string }> {
    const socket = await this.driver.attach(this.leaseId)
    const set = Object.entries(env).map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'\n`)
    socket.end(`${set.join('')}${script}`)
    return JSON.parse(await text(socket))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.driver.destroy(this.leaseId)
    await this.driver[Symbol.asyncDispose]()
    await rm(this.root, { recursive: true, force: true })
  }
}
