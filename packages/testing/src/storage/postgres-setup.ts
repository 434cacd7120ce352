import { appendFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { prepareDatabase } from '@berth/platform/storage/postgres/database-roles.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import type { TestProject } from 'vitest/node'
import { RUN_VARIABLE, takeDownKilledRuns, takeDownRun } from '../leaks/run-directory.ts'
import { silentLog } from '../services/log.ts'
import { makePostgresDirectory, removePostgresDirectories } from './postgres-directory.ts'

/** Address and users of the run's server, which setup provides to the test files. */
export interface TestServer {
  readonly host: string
  readonly port: number
  /** The superuser. */
  readonly user: string
  /** The role of the service. */
  readonly serviceUser: string
  readonly template: string
}

declare module 'vitest' {
  interface ProvidedContext {
    testServer: TestServer
  }
}

const template = 'berth_template'

/**
 * Starts one PostgreSQL for the whole run, with a migrated template that accepts no connections any more. The run fails if its
 * sandboxes have left a process, mount, loop device, cgroup or uid behind in the end.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removePostgresDirectories()
  await takeDownKilledRuns()
  process.env[RUN_VARIABLE] = String(process.pid)
  const dataDir = await makePostgresDirectory()
  const server = await startEmbeddedPostgres({
    dataDir,
    log: silentLog,
    parameters: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  })
  const { administration: connection, connection: service } = server
  await using administration = openDatabase({ connection, log: silentLog, connections: 1 })
  await administration.query(`create database ${template}`)
  {
    await using database = openDatabase({ connection: { ...service, database: template }, log: silentLog })
    await prepareDatabase(database, { connection: { ...connection, database: template }, log: silentLog })
  }
  await administration.query(`alter database ${template} with is_template true allow_connections false`)
  const { host, port, user } = connection
  project.provide('testServer', { host, port, user, serviceUser: service.user, template })
  return async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
    const leaks = await takeDownRun(process.pid)
    if (leaks.length === 0) return
    const error = `the tests leak on this machine: ${leaks.join(', ')}`
    const { GATE_RECORD: record } = process.env
    if (record !== undefined) appendFileSync(record, `${JSON.stringify({ kind: 'leaks', errors: [error] })}\n`)
    throw new Error(error)
  }
}
