// Measures how long a fork of a Session on a repository of many files takes from the `PUT` of its Turn to its first model
// request: the first fork of a checkpoint, the next ones, and the last of ten at once, beside ten empty Sessions at once. Then the same with a host that keeps
// no trees, where each fork unpacks its checkpoint. Run as: node bench/forks.ts [rounds] [files]
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Repository, Session } from '@berth/contract'
import { grantLocal } from '../packages/core/src/repositories/grant-local.ts'
import { systemClock } from '../packages/platform/src/kit/clock.ts'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startObservedModel } from './support/first-request.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds } from './support/statistics.ts'

const [rounds = 5, files = 20_000] = process.argv.slice(2).map(Number)
const TOUCHED = 200
const AT_ONCE = 10
// With fewer hands some forks of a burst would wait until others are sealed.
const variables = { BERTH_ROLES: 'api,worker,gateway', BERTH_WORKER_CONCURRENCY: String(AT_ONCE) }

/** Makes a bare repository with one commit. */
function makeRepository(root: string): void {
  const tree = join(root, 'work')
  for (let n = 0; n < files; n += 1) {
    const directory = join(tree, `d${n % 40}`, `s${Math.floor(n / 40) % 25}`)
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, `file-${n}.ts`), `export const n${n} = '${'0123456789'.repeat(n % 400)}'\n`)
  }
  const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@b', ...args])
  git('init', '-q', '-b', 'main', tree)
  git('-C', tree, 'add', '.')
  git('-C', tree, 'commit', '-q', '-m', 'one')
  git('clone', '-q', '--bare', tree, join(root, 'repositories/bench/sample.git'))
}

/** @param keeps whether the host can keep trees */
async function measure(keeps: boolean) {
  await using bench = await openBenchDatabase()
  await using stack = new AsyncDisposableStack()
  stack.defer(() => removeSandboxes(bench.dataDir))
  // No directory can be made where a file is.
  if (!keeps) writeFileSync(join(bench.dataDir, 'images'), '')
  makeRepository(bench.dataDir)
  const { organizationId, installationId } = bench
  await grantLocal({ db: bench.db, clock: systemClock }, { organizationId, installationId })
  const model = stack.use(await startObservedModel())
  await model.configure(bench.dataDir)
  const service = stack.use(await startBenchService(bench, variables))
  const call = callerOf(service.url, bench.apiKey)
  const { repositories } = await call<{ repositories: readonly Repository[] }>('GET', '/v1/repositories')
  const [repository] = repositories
  if (repository === undefined) throw new Error('the repository is not granted')

  const turn = async (id: string) => {
    await call('PUT', `/v1/sessions/${id}/turns/${randomUUID()}`, { message: 'Say done.' })
  }
  const parent = randomUUID()
  const source = { grantId: repository.grantId, repositoryId: repository.repositoryId }
  await call('PUT', `/v1/sessions/${parent}`, { source, initialTurn: { id: randomUUID(), message: 'Say done.' } })
  await untilIdle(call, parent)
  /** Changes some files of the parent as its agent would, and seals them. */
  const change = async (round: number) => {
    const { rows } = await bench.db.query<{ id: string }>(
      'select id from leases where session_id = $1 and ended_at is null',
      [parent],
    )
    const project = join(bench.dataDir, 'leases', rows[0]?.id ?? '', 'disk/files/workspace/project')
    for (let n = 0; n < TOUCHED; n += 1) {
      const at = (round * 997 + n * 31) % files
      const path = join(project, `d${at % 40}`, `s${Math.floor(at / 40) % 25}`, `file-${at}.ts`)
      writeFileSync(path, `export const changed = ${round + n}\n`)
    }
    await turn(parent)
    await untilIdle(call, parent)
  }
  const empty = async () => {
    const id = randomUUID()
    await call('PUT', `/v1/sessions/${id}`, {})
    return id
  }
  const fork = async () => (await call<{ session: Session }>('POST', `/v1/sessions/${parent}/forks`, {})).session.id
  /** @returns milliseconds until the last of so many forks has asked its model */
  const start = async (count: number, make = fork) => {
    const ids = await Promise.all(Array.from({ length: count }, make))
    const last = model.next(count)
    const begunAt = Date.now()
    await Promise.all(ids.map(turn))
    const ms = (await last) - begunAt
    for (const id of ids) {
      await untilIdle(call, id)
      await call('DELETE', `/v1/sessions/${id}`)
    }
    // The service destroys the sandboxes and prepares the next outside the measured time.
    await sleep(4000)
    return ms
  }
  const [first, again] = [[] as number[], [] as number[]]
  for (let round = 0; round < rounds; round += 1) {
    await change(round)
    await sleep(2000)
    first.push(await start(1))
    again.push(await start(1))
  }
  const [ten, tenEmpty] = [[] as number[], [] as number[]]
  for (let round = 0; round < 3; round += 1) {
    tenEmpty.push(await start(AT_ONCE, empty))
    ten.push(await start(AT_ONCE))
  }
  return { firstMs: median(first), againMs: median(again), tenMs: median(ten), emptyMs: median(tenEmpty) }
}

const kept = await measure(true)
const unpacked = await measure(false)
for (const [title, { firstMs, againMs, tenMs, emptyMs }] of Object.entries({ kept, unpacked })) {
  process.stdout.write(`${title}: first ${firstMs} ms, again ${againMs} ms, last of ${AT_ONCE} at once ${tenMs} ms`)
  process.stdout.write(`; of ${AT_ONCE} empty Sessions at once ${emptyMs} ms\n`)
}
printBounds({
  first_ms: [kept.firstMs, 500],
  again_ms: [kept.againMs, 250],
  ten_to_empty_ratio: [kept.tenMs / kept.emptyMs, 1.5],
})
