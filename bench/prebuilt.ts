// Measures the start of a sandbox from a prebuilt tree, against one without any tree and against a restore of the same
// tree: from the call of the driver until the supervisor answers. Run as root: node bench/prebuilt.ts [rounds] [files]
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { imageLimits } from '../packages/server/src/checkpoints/limits.ts'
import { platformNames } from '../packages/server/src/checkpoints/platform-names.ts'
import { sealTree } from '../packages/server/src/checkpoints/seal-tree.ts'
import { digestOfTrees, HostImages, restoreImage } from '../packages/server/src/environments/images/host-images.ts'
import { SupervisorConnection } from '../packages/server/src/execution/supervisor/connection.ts'
import { createBubblewrapDriver } from '../packages/server/src/sandboxes/bubblewrap/create-driver.ts'
import { defaultBounds } from '../packages/server/src/sandboxes/bubblewrap/options.ts'
import { directoryTree } from '../packages/server/src/sandboxes/confined/directory-tree.ts'
import type { SandboxSpec } from '../packages/server/src/sandboxes/driver.ts'
import { insidePaths } from '../packages/server/src/sandboxes/inside-paths.ts'
import { treeOf } from '../packages/server/src/sandboxes/tree.ts'
import { FileBlobs } from '../packages/server/src/storage/blobs/file-blobs.ts'
import { HostCache } from '../packages/server/src/storage/host-cache.ts'
import { median } from './support/statistics.ts'

const MOST_OF_BARE = 1.2
const MOST_OF_RESTORE = 0.2
const PER_DIRECTORY = 10
const rounds = Number(process.argv[2] ?? 7)
const files = Number(process.argv[3] ?? 20_000)
const log = { info: () => undefined, warn: console.error, error: console.error }
const signal = new AbortController().signal
const bundlesDir = resolve(import.meta.dirname, '../packages/supervisor/dist')
const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'berth-prebuilt-')))

/** Writes files of a few kilobytes, a third of which compresses badly. */
async function writeTree(root: string): Promise<void> {
  for (let n = 0; n < files; n++) {
    const directory = join(root, `package-${Math.floor(n / PER_DIRECTORY / 10)}`, `d${Math.floor(n / PER_DIRECTORY)}`)
    if (n % PER_DIRECTORY === 0) await mkdir(directory, { recursive: true })
    const noise =
      n % 3 === 0 ? Buffer.from(Array.from({ length: 4096 }, () => Math.random() * 256)) : `text ${n}\n`.repeat(1200)
    await writeFile(join(directory, `file-${n}.js`), noise)
  }
}

const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  await using driver = await createBubblewrapDriver({
    dataDir,
    nodePath: process.execPath,
    bundlesDir,
    bounds: defaultBounds,
    log,
  })
  const owner = driver.lowerOwner()
  if (owner === null) throw new Error(`this host shows no prebuilt trees: ${driver.describe().join('; ')}`)
  const blobs = await FileBlobs.open(join(dataDir, 'blobs'))
  const [source, empty] = [join(dataDir, 'source'), join(dataDir, 'empty')]
  await mkdir(empty)
  await writeTree(source)
  const tools = { nodePath: process.execPath, programPath: join(bundlesDir, 'tree.cjs') }
  const seal = async (path: string) => {
    const sealed = await sealTree({
      tree: directoryTree(tools, { path, uid: 0 }, `${path}.baselines`),
      blobs,
      limits: { ...imageLimits, files: 2 * files },
    })
    if (sealed.kind !== 'sealed') throw new Error(`over the cap of ${sealed.cap}`)
    return sealed.manifest.toString()
  }
  const [workspaceManifest, homeManifest] = [await seal(source), await seal(empty)]
  const image = { workspaceManifest, homeManifest, digest: digestOfTrees(workspaceManifest, homeManifest) }
  const images = new HostImages(
    new HostCache(join(dataDir, 'images'), { bytes: Number.MAX_SAFE_INTEGER, inUse: async () => new Set() }),
    blobs,
  )

  let made = 0
  const time = async (
    more: Partial<SandboxSpec>,
    after: (leaseId: string) => Promise<void> = async () => undefined,
  ) => {
    await driver.prepared()
    const leaseId = `bench-${made++}`
    const command = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`]
    const start = performance.now()
    await driver.create({ leaseId, command, bounds: defaultBounds, mounts: [], egress: { reach: [] }, ...more })
    await after(leaseId)
    const stream = await driver.attach(leaseId)
    const connection = await SupervisorConnection.open(stream, { fence: 1, from: 0, helloDeadlineMs: 30_000 })
    const took = performance.now() - start
    await connection[Symbol.asyncDispose]()
    await driver.destroy(leaseId)
    return took
  }
  const [bare, prebuilt, restored]: [number[], number[], number[]] = [[], [], []]
  for (let n = -2; n < rounds; n++) {
    const one = [
      await time({}),
      await time({ lower: await images.provide(image, owner, signal) }),
      await time({}, async leaseId =>
        restoreImage(image, tree => treeOf(driver, leaseId, tree), blobs, { skip: platformNames }),
      ),
    ] as const
    if (n < 0) continue
    bare.push(one[0])
    prebuilt.push(one[1])
    restored.push(one[2])
  }
  print(`${files} files, medians of ${rounds}`)
  const [b, p, r] = [median(bare), median(prebuilt), median(restored)]
  print(`without a tree ${b.toFixed(1)} ms, prebuilt ${p.toFixed(1)} ms, restored ${r.toFixed(1)} ms`)
  print(`prebuilt against without: ${(p / b).toFixed(2)} (at most ${MOST_OF_BARE})`)
  print(`prebuilt against restored: ${(p / r).toFixed(3)} (at most ${MOST_OF_RESTORE})`)
  if (p / b > MOST_OF_BARE || p / r > MOST_OF_RESTORE) process.exitCode = 1
} finally {
  await rm(dataDir, { recursive: true, force: true })
}
