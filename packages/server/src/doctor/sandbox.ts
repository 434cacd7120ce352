import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { ComputeSettings } from '@berth/platform/settings/sandboxes.ts'
import { createBubblewrapDriver } from '@berth/sandboxes/bubblewrap/create-driver.ts'
import type { WeakBound } from '@berth/sandboxes/bubblewrap/weak-bounds.ts'
import { takeDown } from '@berth/sandboxes/down/take-down.ts'
import type { SandboxBounds, SandboxDriver } from '@berth/sandboxes/driver.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { instanceOf } from '@berth/sandboxes/linux/instance.ts'
import { createOciDriver } from '@berth/sandboxes/oci/create-driver.ts'
import { failure, ok, type Report, reasonOf, warning } from './finding.ts'

const quiet = { info() {}, warn() {}, error() {} }
const LEASE = 'doctor'
const MIB = 1024 ** 2

/** A throw-away sandbox needs little, whatever those of the service get. */
const bounds: SandboxBounds = {
  memoryBytes: 512 * MIB,
  processes: 64,
  cpus: 1,
  fileSizeBytes: 16 * MIB,
  diskBytes: 64 * MIB,
}

/**
 * The first program inside: it runs `true`, tries to reach a port of the host, and answers whoever
 * attaches.
 */
const program = `
const { spawnSync } = require('node:child_process')
const net = require('node:net')
const ran = spawnSync('true').status
const answer = reached => net.createServer(socket => socket.end(JSON.stringify({ ran, reached })))
  .listen({ fd: 3 })
const dialled = net.connect(Number(process.argv[1]), '127.0.0.1')
dialled.once('connect', () => answer(true)).once('error', () => answer(false))
`

/**
 * Makes a sandbox in a directory of its own, and destroys it: it must run a program, and reach nothing of this host's network.
 * No packet leaves the host: the port that it tries is one of this process.
 * @param place directory that there is, on the disk of the service's sandboxes
 */
export async function examineSandbox(
  compute: ComputeSettings,
  { place, bundlesDir }: { readonly place: string; readonly bundlesDir: string },
  report: Report,
): Promise<void> {
  const kind = compute.kind
  if (kind === 'remote' || kind === 'pod') {
    return report(ok('sandbox', 'this process makes none of its own: hosts dial it'))
  }
  const dataDir = await mkdtemp(join(place, 'berth-doctor-'))
  try {
    const common = { dataDir, nodePath: process.execPath, bundlesDir, bounds, log: quiet, spares: 0 }
    let weak: readonly WeakBound[] = []
    let driver: SandboxDriver
    if (compute.kind === 'oci') {
      const { image, runtime } = compute
      driver = await createOciDriver({ ...common, image, ...(runtime !== undefined && { runtime }) })
    } else {
      const made = await createBubblewrapDriver(common)
      weak = made.weakBounds
      driver = made
    }
    await using _ = driver
    for (const { bound, now, next } of weak) report(warning(bound, now, next))
    await tryOne(driver, report)
  } catch (error) {
    report(failure('sandbox', reasonOf(error), remedyOf(error)))
  } finally {
    await takeDown(instanceOf(dataDir)).catch(() => undefined)
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function tryOne(driver: SandboxDriver, report: Report): Promise<void> {
  const listener = createServer(socket => void socket.destroy())
  const { promise: listening, resolve } = Promise.withResolvers<void>()
  listener.listen(0, '127.0.0.1', resolve)
  await listening
  try {
    const { port } = listener.address() as AddressInfo
    const command = [insidePaths.node, '-e', program, String(port)]
    await driver.create({ leaseId: LEASE, command, bounds, mounts: [], egress: { reach: [] } })
    const { ran, reached } = JSON.parse(await text(await driver.attach(LEASE)))
    if (ran !== 0) return report(failure('sandbox', `\`true\` ended with ${ran} in it`, 'docs/sandbox.md'))
    if (reached) {
      return report(failure('sandbox', "it reaches a port of this host's network", 'docs/sandbox.md'))
    }
    report(ok('sandbox', `${driver.kind}: a throw-away one ran \`true\`, and reached no network`))
  } finally {
    await driver.destroy(LEASE).catch(() => undefined)
    listener.close()
  }
}

function remedyOf(error: unknown): string {
  const reason = reasonOf(error)
  if (/not installed/.test(reason))
    return /podman/.test(reason) ? 'apt-get install podman runc' : 'apt-get install bubblewrap'
  if (/namespace|uid map|Operation not permitted/i.test(reason)) {
    return 'sysctl -w user.max_user_namespaces=15000; on Ubuntu also sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'
  }
  return 'docs/sandbox.md'
}
