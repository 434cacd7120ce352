// Measures Sessions of Berth's own agent on a repository of many files, from the `PUT` to the first model request: the
// first on a host, beside a `git clone` of the same mirror; later ones, beside Sessions without a repository; and the
// first after one more commit of 200 files. The scripted model is on loopback, in this process.
// Run after `npm run build` as: node bench/checkouts.ts [rounds] [files]
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readdirSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Repository } from '@berth/contract'
import { grantLocal } from '../packages/core/src/repositories/grant-local.ts'
import { systemClock } from '../packages/platform/src/kit/clock.ts'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startObservedModel } from './support/first-request.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds } from './support/statistics.ts'

const rounds = Number(process.argv[2] ?? 7)
const FILES = Number(process.argv[3] ?? 100_000)
const CHANGED = 200

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))

const origin = join(bench.dataDir, 'repositories/bench/large.git')
mkdirSync(origin, { recursive: true })
const git = (args: readonly string[], input: number | 'ignore' = 'ignore') =>
  execFileSync('git', args, { stdio: [input, 'pipe', 'inherit'] })
    .toString()
    .trim()
git(['init', '--bare', '--quiet', '--initial-branch=main', origin])

const pathOf = (file: number) => `d${file % 50}/e${Math.floor(file / 50) % 40}/f${file}.txt`
/** Commits files, all of which change. @returns the commit */
function commit(files: readonly number[], round: number): string {
  // A file, since the content of many files is longer than a string may be.
  const stream = join(bench.dataDir, 'stream')
  const written = openSync(stream, 'w')
  for (const [index, file] of files.entries()) {
    const content = `line ${file} of ${round}\n`.repeat(50 + (file % 400))
    writeSync(written, `blob\nmark :${index + 1}\ndata ${content.length}\n${content}\n`)
  }
  const from = round === 0 ? '' : 'from refs/heads/main^0\n'
  writeSync(written, `commit refs/heads/main\ncommitter a <a@b> ${1_700_000_000 + round} +0000\ndata 1\nx\n${from}`)
  for (const [index, file] of files.entries()) writeSync(written, `M 100644 :${index + 1} ${pathOf(file)}\n`)
  writeSync(written, '\ndone\n')
  closeSync(written)
  git(['-C', origin, 'fast-import', '--quiet', '--done'], openSync(stream, 'r'))
  return git(['-C', origin, 'rev-parse', 'main'])
}
let oid = commit(
  Array.from({ length: FILES }, (_, file) => file),
  0,
)

using model = await startObservedModel()
await model.configure(bench.dataDir)
const { organizationId, installationId } = bench
await grantLocal({ db: bench.db, clock: systemClock }, { organizationId, installationId })
await using service = await startBenchService(bench, { BERTH_ROLES: 'api,worker,gateway' })
const call = callerOf(service.url, bench.apiKey)
const { repositories } = await call<{ repositories: readonly Repository[] }>('GET', '/v1/repositories')
const [repository] = repositories
if (repository === undefined) throw new Error('the repository is not granted')
const source = { grantId: repository.grantId, repositoryId: repository.repositoryId }

/** @returns milliseconds from the `PUT` of a Session to its first model request */
async function start(from?: typeof source): Promise<number> {
  const id = randomUUID()
  const first = model.next()
  const begunAt = Date.now()
  await call('PUT', `/v1/sessions/${id}`, {
    initialTurn: { id: randomUUID(), message: 'Say done.' },
    ...(from && { source: from }),
  })
  const took = (await first) - begunAt
  await untilIdle(call, id)
  await call('DELETE', `/v1/sessions/${id}`)
  // The service destroys the sandbox and prepares the next outside the measured time.
  await sleep(4000)
  return took
}

/** Makes way without the time that a removal takes, which ends with the data directory. */
const putAside = (path: string) => renameSync(path, join(bench.dataDir, `aside-${randomUUID()}`))

/** @returns milliseconds of a `git clone` of the commit from the service's mirror */
function clone(): number {
  const mirrors = join(bench.dataDir, 'mirrors')
  const mirror = readdirSync(mirrors).find(name => name.endsWith('.git')) ?? ''
  const target = join(bench.dataDir, 'clone')
  const begun = performance.now()
  git(['clone', '--quiet', '--shared', '--no-checkout', join(mirrors, mirror), target])
  git(['-C', target, '-c', 'checkout.workers=0', 'reset', '--quiet', '--hard', oid])
  const took = performance.now() - begun
  putAside(target)
  return took
}

const figures = { empty: [], later: [], clone: [], first: [], next: [] } as Record<string, number[]>
const add = (name: string, took: number) => figures[name]?.push(took)
for (const from of [source, undefined, source]) await start(from)
for (let round = 1; round <= rounds; round += 1) {
  add('empty', await start())
  add('later', await start(source))
}
for (let round = 1; round <= Math.min(rounds, 3); round += 1) {
  oid = commit(
    Array.from({ length: CHANGED }, (_, at) => (at * 487 + round) % FILES),
    round,
  )
  add('next', await start(source))
  const trees = join(bench.dataDir, 'images')
  for (const name of readdirSync(trees)) putAside(join(trees, name))
  add('clone', clone())
  add('first', await start(source))
}
for (const [name, took] of Object.entries(figures))
  process.stdout.write(
    `${name.padEnd(6)} ${median(took).toFixed(0)} ms (${took.map(one => one.toFixed(0)).join(', ')})\n`,
  )
const of = (name: string) => median(figures[name] ?? [])
printBounds({
  later_to_empty: [of('later') / of('empty'), 1.3],
  later_ms: [of('later'), 300],
  first_to_clone: [of('first') / of('clone'), 1.2],
  next_ms: [of('next'), 2000],
})
