import { rm } from 'node:fs/promises'
import type { Event, Session } from '@berth/contract'
import { migrate } from '@berth/platform/storage/postgres/migrate.ts'
import { clientConfig, openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { PostgresWakeups, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { databaseUrl, startTestService } from '@berth/testing/services/service.ts'
import { startReplicatedPostgres } from '@berth/testing/storage/replicated-postgres.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { pino } from 'pino'
import { expect, it } from 'vitest'

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
