// Measures what a verification costs beside its checks: the time from asking for it to its end, and to its beginning, against the
// same scripts run by hand in a clone, in turns. Run as: node bench/verification.ts [rounds]
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LOCAL_ACCOUNT, LocalHost } from '../packages/core/src/git-hosts/local/local-host.ts'
import { systemClock } from '../packages/platform/src/kit/clock.ts'
import { Api } from '../packages/testing/src/api/api.ts'
import { Environments } from '../packages/testing/src/environments/environments.ts'
import { grant } from '../packages/testing/src/git/delivering.ts'
import { sampleRepository } from '../packages/testing/src/git/repositories.ts'
import { Verifying } from '../packages/testing/src/git/verifying.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds } from './support/statistics.ts'

const rounds = Number(process.argv[2] ?? 5)
/** Three checks, each a program that computes for some seconds. */
const checks = ['types', 'lint', 'tests'].map(name => ({
  name,
  run: `git ls-files > /dev/null; node -e 'let sum = 0; for (let n = 0; n < 1e9; n += 1) sum = (sum + n) % 97'`,
}))

await using bench = await openBenchDatabase()
await using stack = new AsyncDisposableStack()
stack.defer(() => removeSandboxes(bench.dataDir))
const root = join(bench.dataDir, 'repositories')
const gitDir = await sampleRepository(root)
const service = stack.use(await startBenchService(bench, { BERTH_ROLES: 'api,worker' }))
const api = new Api(service.url, bench.apiKey)
const tenant = { organizationId: bench.organizationId, installationId: bench.installationId }
const test = { api, tenant, db: { database: bench.db }, dataDir: bench.dataDir, url: service.url } as never
const host = new LocalHost(bench.db, systemClock, root, () => service.url)
const [repository] = (await host.listRepositories(LOCAL_ACCOUNT, { limit: 1, from: null })).repositories
if (repository === undefined) throw new Error('no repository')
const grantId = await grant(test, { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir })
const environment = await new Environments(api).make({ checks })
const verifying = await Verifying.of(test, { grantId, repositoryId: repository.repositoryId }, environment)
const clone = await mkdtemp(join(tmpdir(), 'berth-by-hand-'))
stack.defer(() => rm(clone, { recursive: true, force: true }))
spawnSync('git', ['clone', '-q', gitDir, clone])

const figures: { byHandMs: number; verifiedMs: number; begunMs: number }[] = []
for (let round = 0; round < rounds; round += 1) {
  const byHand = performance.now()
  for (const { run } of checks) {
    const { status } = spawnSync('bash', ['-c', run], { cwd: clone })
    if (status !== 0) throw new Error('a check by hand failed')
  }
  const sent = performance.now()
  const sentAt = Date.now()
  const id = await verifying.ask({ fresh: true })
  const ended = await verifying.ended(id)
  if (ended.state !== 'passed') throw new Error(`the verification ended ${ended.state}`)
  figures.push({
    byHandMs: sent - byHand,
    verifiedMs: performance.now() - sent,
    begunMs: Date.parse(ended.startedAt ?? '') - sentAt,
  })
}
for (const { byHandMs, verifiedMs, begunMs } of figures)
  process.stdout.write(
    `by hand ${byHandMs.toFixed(0)} ms, verified ${verifiedMs.toFixed(0)} ms, begun after ${begunMs} ms\n`,
  )
printBounds({
  against_by_hand: [median(figures.map(({ byHandMs, verifiedMs }) => verifiedMs / byHandMs)), 1.2],
  begun_ms: [median(figures.map(({ begunMs }) => begunMs)), 1000],
})
