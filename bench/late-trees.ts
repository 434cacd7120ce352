// Measures a lower tree of many files, as root: a sandbox that stands ready with and without the tree and a mirror's
// objects mounted into it, and the second seal and the review of 20 changed files by the upper layer,
// against a look at every file and `git status` in the same overlay. Run as: node bench/late-trees.ts [rounds] [files] [directory]
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { workspaceLimits } from '../packages/core/src/checkpoints/limits.ts'
import { sealTree } from '../packages/core/src/checkpoints/seal-tree.ts'
import { currentTree } from '../packages/core/src/sessions/reviews/current-tree.ts'
import { reviewBounds } from '../packages/core/src/sessions/reviews/review-place.ts'
import { FileBlobs } from '../packages/platform/src/storage/blobs/file-blobs.ts'
import { createBubblewrapDriver } from '../packages/sandboxes/src/bubblewrap/create-driver.ts'
import { defaultBounds } from '../packages/sandboxes/src/bubblewrap/options.ts'
import { directoryTree } from '../packages/sandboxes/src/confined/directory-tree.ts'
import type { SandboxSpec } from '../packages/sandboxes/src/driver.ts'
import { insidePaths } from '../packages/sandboxes/src/inside-paths.ts'
import type { LeaseScript } from '../packages/sandboxes/src/lease-program.ts'
import type { Tree } from '../packages/sandboxes/src/tree.ts'
import { treeOf } from '../packages/sandboxes/src/tree.ts'
import { median, show } from './support/statistics.ts'

const rounds = Number(process.argv[2] ?? 5)
const files = Number(process.argv[3] ?? 100_000)
const dir = mkdtempSync(join(process.argv[4] ?? tmpdir(), 'berth-late-'))
// The pool's own timers keep no process alive.
const alive = setInterval(() => undefined, 1000)
const print = (line: string) => process.stdout.write(`${line}\n`)
const bundlesDir = join(import.meta.dirname, '../packages/supervisor/dist')
const nodePath = process.execPath
const log = { info: () => undefined, warn: console.error, error: console.error }
const supervisor = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`]
const line = { command: ['cat'], env: { PATH: '/usr/bin:/bin' }, cwd: insidePaths.workspace, line: 'begin' }
const bounds = { ...defaultBounds, diskBytes: 1024 ** 3 }

async function timed<T>(work: () => Promise<T>): Promise<[ms: number, result: T]> {
  const start = performance.now()
  const result = await work()
  return [performance.now() - start, result]
}
const ratio = (name: string, one: readonly number[], other: readonly number[]) =>
  print(
    `${name}: ${show(median(one), 1)} ms against ${show(median(other), 1)} ms, ${show(median(one) / median(other))}`,
  )

const kept = join(dir, 'kept')
const project = join(kept, 'project')
for (let n = 0; n < files; n++) {
  const directory = join(project, `d${n % 40}`, `s${Math.floor(n / 40) % 25}`)
  if (n < 1000) mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, `file-${n}.ts`), `export const value${n} = ${n * 7919}\n`)
}
const mirror = join(dir, 'mirror')
const objects = join(mirror, 'objects')
const options = { dataDir: join(dir, 'data'), nodePath, bundlesDir, bounds, log, spares: 0, objects: () => objects }
const driver = await createBubblewrapDriver({
  ...options,
  pool: { least: 1, most: 1, command: supervisor, agent: line },
})
const owner = driver.lowerOwner()
if (owner === null) throw new Error('this host shows no lower trees')
const commitAll = `git init -q; git config core.checkStat minimal; git config feature.manyFiles true; git add -A
  git -c user.name=a -c user.email=a@b commit -qm all; git repack -adq; git clone -q --bare . "$1"`
execFileSync('sh', ['-ec', commitAll, 'sh', mirror], { cwd: project })
const oidOf = (name: string) => execFileSync('git', ['rev-parse', name], { cwd: mirror, encoding: 'utf8' }).trim()
execFileSync('chown', ['-R', `${owner.uid}:${owner.uid}`, kept])
const asOwner = ['--reuid', String(owner.uid), '--regid', String(owner.uid), '--clear-groups', 'git', 'status']
execFileSync('chmod', ['711', dir, join(dir, 'data')])
execFileSync('setpriv', asOwner, { cwd: project, stdio: 'ignore' })

const blobs = await FileBlobs.open(join(dir, 'blobs'))
async function seal(tree: Tree, previous?: Uint8Array) {
  const sealed = await sealTree({ tree, blobs, limits: workspaceLimits, previous, skip: ['.berth'] })
  if (sealed.kind !== 'sealed') throw new Error(`over the cap of ${sealed.cap}`)
  return sealed
}
const baselines = join(dir, 'baselines')
const first = await seal(owner.tree(kept, baselines))
const commit = oidOf('HEAD')
const lower = { places: { project: [project] }, baselines: { workspace: baselines }, commit } as const

const plain: number[] = []
const late: number[] = []
const specOf = (leaseId: string): SandboxSpec => ({
  leaseId,
  command: supervisor,
  bounds,
  mounts: [],
  egress: { reach: [] },
})
for (let n = 0; n < rounds; n++) {
  for (const [figures, more] of [
    [plain, {}],
    [late, { lower, objects: 'mirror' }],
  ] as const) {
    await driver.prepared()
    const leaseId = `lease-${n}-${figures === late ? 'late' : 'plain'}`
    const [ms] = await timed(() => driver.create({ ...specOf(leaseId), ...more }))
    figures.push(ms)
    if (n > 0 || figures === plain) await driver.destroy(leaseId)
  }
}
ratio('a ready sandbox with tree and objects, against without', late, plain)

const workspace = join(dir, 'data/leases/lease-0-late/disk/files/workspace')
const uid = Number(execFileSync('stat', ['-c', '%u', workspace], { encoding: 'utf8' }))
const inside = (script: string) =>
  execFileSync('setpriv', ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', 'sh', '-ec', script], {
    cwd: join(workspace, 'project'),
    stdio: 'ignore',
  })
const lease = join(dir, 'data/leases/lease-0-late')
execFileSync('chmod', ['o+x', join(dir, 'data/leases'), lease, join(lease, 'disk'), join(lease, 'disk/files')])
const walkedTree = directoryTree(
  { nodePath, programPath: join(bundlesDir, 'tree.cjs') },
  { path: workspace, uid },
  join(dir, 'walked'),
)
/** All that lies there is counted, again and again. */
const scratch = mkdtempSync(join(dir, 'scratch-'))
const review = (listsChanges: boolean) => {
  const run = (script: LeaseScript) => driver.run('lease-0-late', { ...script, listsChanges })
  const place = { run, mirror, objects: 'mirror', scratch, bounds: reviewBounds }
  return currentTree(place, oidOf('HEAD^{tree}'), AbortSignal.timeout(reviewBounds.timeMs))
}
const figures = {
  review: [] as number[],
  compared: [] as number[],
  listed: [] as number[],
  walked: [] as number[],
  status: [] as number[],
}
let previous = {
  listed: (await seal(treeOf(driver, 'lease-0-late', 'workspace'), first.manifest)).manifest,
  walked: (await seal(walkedTree)).manifest,
}
inside('git status')
for (let n = 0; n < rounds; n++) {
  inside(`for d in $(seq 0 19); do echo ${n} >> d$d/s3/$(ls d$d/s3 | head -n 1); done`)
  const [listedMs, listed] = await timed(() => seal(treeOf(driver, 'lease-0-late', 'workspace'), previous.listed))
  const [walkedMs, walked] = await timed(() => seal(walkedTree, previous.walked))
  const [statusMs] = await timed(async () => inside('git status'))
  const [reviewMs, tree] = await timed(() => review(true))
  const [comparedMs, same] = await timed(() => review(false))
  if (tree !== same) throw new Error('the reviews differ')
  figures.review.push(reviewMs)
  figures.compared.push(comparedMs)
  figures.listed.push(listedMs)
  figures.walked.push(walkedMs)
  figures.status.push(statusMs)
  previous = { listed: listed.manifest, walked: walked.manifest }
}
ratio('second seal by the upper layer, against a walk of everything', figures.listed, figures.walked)
ratio('second seal by the upper layer, against git status', figures.listed, figures.status)
ratio('tree of a review by the upper layer, against a comparison of every file', figures.review, figures.compared)
ratio('tree of a review by the upper layer, against git status', figures.review, figures.status)
await driver.destroy('lease-0-late')
await driver[Symbol.asyncDispose]()
execFileSync('rm', ['-rf', dir])
clearInterval(alive)
