/**
 * Measures a second Session on a repository of 200 MB: creating its commit in a fresh workspace, against
 * `git clone --shared` from the same mirror, in turns. Also counts the bytes that the host sends for it.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { checkOut } from '../packages/server/src/git/check-out.ts'
import { gitText, runGit } from '../packages/server/src/git/run-git.ts'
import { GitHubHost } from '../packages/server/src/git-hosts/github/github-host.ts'
import { systemClock } from '../packages/server/src/kit/clock.ts'
import { Mirrors } from '../packages/server/src/repositories/mirrors.ts'
import { startLeaseScript } from '../packages/server/src/sandboxes/confined/lease-script.ts'
import type { LeaseScript } from '../packages/server/src/sandboxes/lease-program.ts'
import { GitHubServer } from '../packages/server/test/support/git/github-server.ts'
import { median } from './support/statistics.ts'

const ROUNDS = 7
const FILES = 2000
const FILE_BYTES = 100_000
const uid = process.getuid?.() === 0 ? 271_828 : undefined
const signal = AbortSignal.timeout(300_000)

const dir = mkdtempSync(join(tmpdir(), 'berth-checkout-'))
await using server = await GitHubServer.start()
try {
  const gitDir = join(dir, 'large.git')
  const oid = await largeRepository(gitDir)
  server.addRepository({ id: 1, fullName: 'a/large', gitDir, installations: ['1'] })
  using host = new GitHubHost({ appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }, systemClock)
  const mirrors = new Mirrors(join(dir, 'mirrors'), 1024 ** 4)
  const commit = { organizationId: 'o', host, repository: { account: '1', repositoryId: '1' }, oid }
  const started = performance.now()
  await mirrors.provide(commit, signal)
  const [first, firstMs] = [server.gitBytes, performance.now() - started]

  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const mirror = await mirrors.provide(commit, signal)
    theirs.push(timed(() => clone(mirror, join(dir, `clone-${round}`))))
    rmSync(join(dir, `clone-${round}`), { recursive: true })
    ours.push(await second(mirrors, commit, join(dir, `workspace-${round}`)))
    rmSync(join(dir, `workspace-${round}`), { recursive: true })
  }
  const [ourMs, theirMs] = [median(ours), median(theirs)]
  process.stdout.write(`first fetch: ${(first / 1e6).toFixed(0)} MB in ${firstMs.toFixed(0)} ms\n`)
  process.stdout.write(
    `second session: ${ourMs.toFixed(0)} ms, git clone --shared: ${theirMs.toFixed(0)} ms, median of ${ROUNDS}\n`,
  )
  process.stdout.write(
    `ratio ${(ourMs / theirMs).toFixed(2)} (bound 1.2); bytes fetched again: ${server.gitBytes - first}\n`,
  )
} finally {
  rmSync(dir, { recursive: true, force: true })
}

async function second(mirrors: Mirrors, commit: Parameters<Mirrors['provide']>[0], workspace: string): Promise<number> {
  mkdirSync(workspace)
  if (uid !== undefined) chownSync(workspace, uid, uid)
  const from = performance.now()
  const mirror = await mirrors.provide(commit, signal)
  const objects = () => join(mirror, 'objects')
  const place = { workspace, home: workspace, scratchDir: dir, objects, ...(uid !== undefined && { uid }) }
  const run = (script: LeaseScript) => startLeaseScript(place, script)
  await checkOut(
    { run, mirror, objects: 'mirror', branch: 'main', oid: commit.oid, originUrl: 'https://host/a.git' },
    signal,
  )
  return performance.now() - from
}

function timed(work: () => void): number {
  const from = performance.now()
  work()
  return performance.now() - from
}

/** Clones the mirror. The clone needs a branch to check out, but the mirror holds only commits. */
function clone(mirror: string, to: string): void {
  execFileSync('git', ['--git-dir', mirror, 'update-ref', 'refs/heads/main', commitIn(mirror)])
  execFileSync('git', ['clone', '--quiet', '--shared', '--branch', 'main', mirror, to])
}

function commitIn(mirror: string): string {
  const refs = execFileSync('git', ['--git-dir', mirror, 'for-each-ref', '--format=%(objectname)', 'refs/berth'])
  return refs.toString().trim()
}

async function largeRepository(gitDir: string): Promise<string> {
  await runGit(['init', '--bare', '--quiet', gitDir])
  async function* stream() {
    yield 'commit refs/heads/main\ncommitter a <a@b> 1760000000 +0000\ndata 2\nx\n'
    for (let file = 0; file < FILES; file++) {
      yield `M 100644 inline d${file % 50}/f${file}\ndata ${FILE_BYTES}\n`
      yield randomBytes(FILE_BYTES)
      yield '\n'
    }
    yield 'done\n'
  }
  await runGit(['fast-import', '--quiet', '--done'], { gitDir, input: Readable.from(stream()), timeoutMs: 120_000 })
  return gitText(['rev-parse', 'refs/heads/main'], { gitDir })
}
