import { randomUUID } from 'node:crypto'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { inject } from 'vitest'
import { silentLog } from '../services/log.ts'
import './postgres-setup.ts'

/** Statements of a test itself wait for a busy machine; only the service's own have the product's bounds. */
const patient = { statementTimeoutMs: 120_000, connectTimeoutMs: 60_000 } as const

/** A migrated database that nobody else uses. */
export interface TestDatabase extends AsyncDisposable {
  /** Connection of the service, as a role that owns nothing; for an empty database, as the superuser. */
  readonly connection: {
    readonly host: string
    readonly port: number
    readonly user: string
    readonly database: string
  }
  /** Connection of the superuser, for statements of the test itself. */
  readonly database: PooledDatabase
}

/**
 * Makes a database for one test file by copying the run's migrated template; `empty` leaves the schema out. Dispose of
 * it at the end: `afterAll(() => test[Symbol.asyncDispose]())`.
 */
export async function createTestDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const { template, serviceUser, ...server } = inject('testServer')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copied as files: the write-ahead log of a database that nobody recovers would be eight times the work.
  await administer(
    `create database ${name} template ${options.empty === true ? 'template0' : template} strategy file_copy`,
  )
  const administration = { ...server, database: name }
  const connection = options.empty === true ? administration : { ...administration, user: serviceUser }
  const database = openDatabase({ connection: administration, log: silentLog, applicationName: 'test', ...patient })
  return {
    connection,
    database,
    async [Symbol.asyncDispose]() {
      await database.close()
      // With force: a connection that a test broke on purpose must not keep the database.
      await administer(`drop database if exists ${name} with (force)`)
    },
  }
}

async function administer(sql: string): Promise<void> {
  const { host, port, user } = inject('testServer')
  await using administration = openDatabase({
    connection: { host, port, user, database: 'postgres' },
    log: silentLog,
    connections: 1,
    ...patient,
  })
  await administration.query(sql)
}
