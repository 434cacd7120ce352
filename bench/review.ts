/**
 * Compares a review, of 1 000 changed files of 2 000 unless told otherwise, with git alone: `git add -A`, `git write-tree` and `git diff` in a separate
 * clone with a warm index. Run as: node bench/review.ts [rounds] [changed files] [files]
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeReview } from '../packages/core/src/sessions/reviews/make-review.ts'
import { reviewBounds } from '../packages/core/src/sessions/reviews/review-place.ts'
import { FileBlobs } from '../packages/platform/src/storage/blobs/file-blobs.ts'
import { openHelperGroup } from '../packages/sandboxes/src/confined/helper-group.ts'
import { startLeaseScript } from '../packages/sandboxes/src/confined/lease-script.ts'
import { median } from './support/statistics.ts'

const rounds = Number(process.argv[2] ?? 9)
const CHANGED = Number(process.argv[3] ?? 1000)
const FILES = Number(process.argv[4] ?? 2000)

const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'))
const env = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
}
const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', args, { cwd, env, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] })
    .toString()
    .trim()

const fileOf = (at: number) => `src/d${Math.floor(at / 40)}/f${at}.ts`
const contentOf = (at: number, more = '') =>
  `${Array.from({ length: 40 }, (_, line) => `export const value${line} = ${at * line} // of file ${at}`).join('\n')}\n${more}`

function change(project: string, round: string): void {
  for (let at = 0; at < CHANGED; at++) writeFileSync(join(project, fileOf(at)), contentOf(at, `changed in ${round}\n`))
}

await using group = await openHelperGroup(dir, { memoryBytes: 4 * 1024 ** 3, cpus: 2, processes: 512 })
process.stdout.write(`${group.description}\n`)
const uid = process.getuid?.() === 0 ? 23_456 : undefined
const blobs = await FileBlobs.open(join(dir, 'blobs'))
const origin = join(dir, 'origin')
for (let at = 0; at < FILES; at++) {
  mkdirSync(join(origin, fileOf(at), '..'), { recursive: true })
  writeFileSync(join(origin, fileOf(at)), contentOf(at))
}
git(origin, 'init', '-q', '-b', 'main')
git(origin, 'add', '-A')
git(origin, 'commit', '-qm', 'first')
const mirror = join(dir, 'mirror.git')
git(dir, 'clone', '-q', '--bare', origin, mirror)
const baseOid = git(mirror, 'rev-parse', 'main')

const bare: number[] = []
const reviews: number[] = []
for (let round = 0; round < rounds; round++) {
  const plain = join(dir, `plain-${round}`)
  git(dir, 'clone', '-q', '--shared', mirror, plain)
  change(plain, `plain ${round}`)
  const workspace = join(dir, `workspace-${round}`)
  mkdirSync(workspace)
  git(dir, 'clone', '-q', '--shared', mirror, join(workspace, 'project'))
  change(join(workspace, 'project'), `review ${round}`)
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${uid}`, workspace])
  const scratch = join(dir, `scratch-${round}`)
  mkdirSync(scratch)
  await new Promise(resolve => setTimeout(resolve, 1100))

  let begun = performance.now()
  git(plain, 'add', '-A')
  git(plain, 'write-tree')
  git(plain, 'diff', '--cached', 'HEAD')
  bare.push(performance.now() - begun)

  const place = {
    ...{ workspace, home: workspace, scratchDir: scratch, objects: () => join(mirror, 'objects') },
    ...(uid !== undefined && { uid }),
  }
  begun = performance.now()
  let tookMs = 0
  await makeReview(
    {
      run: script => startLeaseScript(place, script),
      mirror,
      objects: 'mirror',
      scratch,
      bounds: reviewBounds,
    },
    { organizationId: 'a', sessionId: 'b' },
    { baseOid, targetBranch: 'main' },
    {
      blobs,
      known: async () => null,
      made: async () => {
        tookMs = performance.now() - begun
      },
      now: new Date(),
      signal: AbortSignal.timeout(60_000),
    },
  )
  reviews.push(tookMs)
}
rmSync(dir, { recursive: true })

const [ofGit, ofReview] = [median(bare), median(reviews)]
process.stdout.write(
  `git add, write-tree, diff: ${ofGit.toFixed(0)} ms
review:                    ${ofReview.toFixed(0)} ms
ratio:                     ${(ofReview / ofGit).toFixed(2)}
`,
)
