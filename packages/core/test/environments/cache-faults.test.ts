import { rm } from 'node:fs/promises'
import type { Event, Session } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { shortFence, startTestService, type TestService, variablesAlongside } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cacheKey, thisMachine } from '../../src/environments/cache/cache-key.ts'

const stack = new AsyncDisposableStack()
let service: TestService
let environments: Environments
let dataDir: string
let worker: ServiceProcess
beforeAll(async () => {
  service = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  environments = new Environments(service.api)
  dataDir = await runDirectory('worker')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  stack.defer(() => destroySandboxes(dataDir))
  stack.defer(() => worker.kill())
  worker = await startWorker()
})
afterAll(() => stack.disposeAsync())

const startWorker = () =>
  startServiceProcess({
    ...variablesAlongside(service),
    BERTH_ROLES: 'worker',
    BERTH_DATA_DIR: dataDir,
    ...shortFence,
  })

const setup =
  'mkdir -p deps; echo run >> ~/count; echo more >> deps/log; cat deps/log; (while :; do date +%N > ~/beat; sleep 0.01; done) > /dev/null 2>&1 &'
const report =
  'wc -l < ~/count; wc -l < deps/log; a=$(cat ~/beat); for i in $(seq 500); do [ "$a" = "$(cat ~/beat)" ] || { echo beats; break; }; sleep 0.02; done'

const begin = (id: string) => service.api.createSession({ runtime: 'shell', environment: { id } }, report)
const ended = (session: Session) => service.api.runEnded(session.id, session.activeRunId ?? '')
const applies = (events: readonly Event[]) =>
  events.filter(({ type }) => type === 'svc.environment.apply').map(({ data }) => data)
const output = (events: readonly Event[]) =>
  events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output']

/** Kills the worker while it waits for a row that the test holds, and starts another. */
async function killWaiting(hold: (tx: Queryable) => Promise<unknown>, start: () => Promise<Session>): Promise<Session> {
  return service.db.database.transaction(async tx => {
    await hold(tx)
    const session = await start()
    await until('a worker that waits for the row', async () => {
      const { rows } = await service.db.database.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
           and query like '%environment_caches%'`,
      )
      return rows.length > 0
    })
    await worker.kill()
    worker = await startWorker()
    return session
  })
}

test('a worker that is killed while it restores or saves is followed by one that goes on, and nothing runs twice', async () => {
  const { id } = await environments.make({ setup, cache: { paths: ['deps'] } })
  const first = await ended(await begin(id))
  expect(applies(first)[1]).toMatchObject({ cache: 'miss' })
  expect(output(first)).toBe('1\n1\nbeats\n')
  const hold = (tx: Queryable) =>
    tx.query('select 1 from environment_caches where environment_id = $1 for update', [id])

  const restoring = await ended(await killWaiting(hold, () => begin(id)))
  expect(applies(restoring)).toMatchObject([{ status: 'started' }, { status: 'succeeded', cache: 'hit' }])
  expect(output(restoring)).toBe('1\n2\nbeats\n')

  // A cache of other paths, which nobody reads before it is saved.
  const { revision, name } = (await environments.read(id)).body.environment
  await environments.put(id, { name, setup, cache: { paths: ['deps', 'more'] } }, revision)
  const promised = (tx: Queryable) =>
    tx.query(
      `insert into environment_caches (organization_id, environment_id, key, branch, blobs, searched, saved_at, used_at)
       select organization_id, environment_id, $2, '', '{}', '', now(), now() from environment_caches
       where environment_id = $1 limit 1`,
      [id, cacheKey(['deps', 'more'], null, { kind: 'bubblewrap', machine: thisMachine }, null)],
    )
  const saving = await ended(await killWaiting(promised, () => begin(id)))
  expect(applies(saving)).toMatchObject([{ status: 'started' }, { status: 'succeeded', cache: 'miss' }])
  expect(output(saving)).toBe('1\n1\nbeats\n')
  const after = await ended(await begin(id))
  expect(applies(after)[1]).toMatchObject({ cache: 'hit' })
})
