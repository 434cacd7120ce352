import { rm } from 'node:fs/promises'
import type { Event, Session } from '@berth/contract'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { migrate } from '../../src/storage/postgres/migrate.ts'
import { clientConfig, openDatabase } from '../../src/storage/postgres/pool.ts'
import { PostgresWakeups, topics } from '../../src/storage/postgres/wakeups.ts'
import { Api } from '../support/api/api.ts'
import { createTenant } from '../support/api/tenant.ts'
import { runDirectory } from '../support/leaks/run-directory.ts'
import { endedRun, outcomeOf } from '../support/runs/ended-run.ts'
import { silentLog } from '../support/services/log.ts'
import { databaseUrl, startTestService } from '../support/services/service.ts'
import { startReplicatedPostgres } from '../support/storage/replicated-postgres.ts'
import { until } from '../support/until.ts'
import { touch } from '../support/workspaces/workspace.ts'

it('a failover of the database to a synchronous standby loses nothing that was answered, and Runs go on', {
  timeout: 300_000,
}, async () => {
  await using stack = new AsyncDisposableStack()
  const directory = await runDirectory('failover')
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const postgres = stack.use(await startReplicatedPostgres(directory))
  const db = stack.use(openDatabase({ connection: postgres.administration, log: silentLog }))
  await migrate(db)
  const { apiKey } = await createTenant(db)
  const url = (connection: typeof postgres.connection) => databaseUrl({ connection })
  const test = stack.use(
    await startTestService({
      variables: { DATABASE_URL: url(postgres.connection), BERTH_MIGRATION_URL: url(postgres.administration) },
    }),
  )
  const api = new Api(test.url, apiKey)
  const script = 'while [ ! -e go ]; do sleep 0.02; done; echo went'
  const busy = await api.createSession({ runtime: 'shell' }, script)
  await until('a running run', async () => (await api.session(busy.id)).phase === 'running')

  const wakeups = stack.use(
    new PostgresWakeups({
      connection: clientConfig({ connection: postgres.connection, log: silentLog }),
      log: pino({ level: 'silent' }),
    }),
  )
  await wakeups.start()
  await until('a connection that listens', () => wakeups.live)

  const made: Session[] = []
  const over = new AbortController()
  const writing = Array.from({ length: 4 }, async () => {
    while (!over.signal.aborted)
      await api.createSession({ title: 'a' }).then(
        session => made.push(session),
        () => undefined,
      )
  })
  await until('some writes', () => made.length > 20)
  const read: readonly Event[] = await api.events(busy.id)
  await postgres.failOver()
  over.abort()
  await Promise.all(writing)

  await until('a service that answers', async () => (await fetch(`${test.url}/readyz`)).ok)
  expect((await api.events(busy.id)).slice(0, read.length)).toEqual(read)
  for (const session of made) expect(await api.session(session.id)).toMatchObject({ id: session.id, title: 'a' })
  await touch(db, test.dataDir, busy, 'go')
  const ended = await endedRun(api, busy, busy.activeRunId ?? '')
  expect(outcomeOf(ended)).toBe('completed completed - 1')
  await until('a connection that listens again', () => wakeups.live)
  let heard = false
  wakeups.subscribe(topics.queue, topic => {
    heard ||= topic !== null
  })
  await wakeups.known(topics.queue)
  const next = await api.createSession({ runtime: 'shell' }, 'true')
  expect(outcomeOf(await endedRun(api, next, next.activeRunId ?? ''))).toBe('completed completed - 1')
  await until('a wake-up', () => heard)
})
