import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { type RunningService, serve } from '../../../src/serve.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { Api } from '../api/api.ts'
import { createTenant, type Tenant } from '../api/tenant.ts'
import { destroySandboxes } from '../faults/destroy-sandboxes.ts'
import { createTestDatabase, type TestDatabase } from '../storage/postgres.ts'

/** The whole service in this process: real PostgreSQL, real HTTP, real sandboxes. */
export interface TestService extends AsyncDisposable {
  readonly service: RunningService
  readonly url: string
  readonly dataDir: string
  readonly db: TestDatabase
  readonly tenant: Tenant
  /** Calls with the key of `tenant`. */
  readonly api: Api
  /** Another organization with an installation of its own. */
  newTenant(): Promise<{ tenant: Tenant; api: Api }>
}

/** A URL for a database behind a unix socket, as an operator would write it. */
export function databaseUrl({ connection }: Pick<TestDatabase, 'connection'>): string {
  const { host, port, user, database } = connection
  return `postgresql://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`
}

/**
 * Settings that every test starts from: a free port, room in the buckets, claims that lapse quickly, and sandboxes from
 * which nothing leaves this machine.
 */
export const testVariables = {
  BERTH_PORT: '0',
  BERTH_LOG_LEVEL: 'silent',
  BERTH_RATE_BURST: '100000',
  BERTH_AUTH_RATE_BURST: '100000',
  BERTH_ISSUANCE_RATE_BURST: '100000',
  BERTH_FENCE_SECONDS: '1',
  BERTH_EGRESS: 'none',
  BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
} as const

/** Settings by which another process, with a data directory of its own, serves beside a service that is there. */
export function variablesBeside({ db, dataDir }: Pick<TestService, 'db' | 'dataDir'>) {
  return {
    DATABASE_URL: databaseUrl(db),
    BERTH_BLOBS: `file:${join(dataDir, 'blobs')}`,
  }
}

/** Starts the service on a database and a data directory of its own. Dispose of it in `afterAll`. */
export async function startTestService(
  options: {
    variables?: Record<string, string>
    config?: object
    /** Puts into the data directory what an operator would have put there. */
    prepare?: (dataDir: string) => Promise<void>
    /** Writes down where the database is. */
    url?: (db: TestDatabase) => string
  } = {},
): Promise<TestService> {
  await using stack = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-service-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  stack.defer(() => destroySandboxes(dataDir))
  if (options.config !== undefined)
    await writeFile(join(dataDir, 'berth.json'), JSON.stringify(options.config), { mode: 0o600 })
  await options.prepare?.(dataDir)
  const db = stack.use(await createTestDatabase())
  const variables = {
    ...testVariables,
    BERTH_DATA_DIR: dataDir,
    DATABASE_URL: (options.url ?? databaseUrl)(db),
    ...options.variables,
  }
  const settings = loadSettings(variables, path => (existsSync(path) ? readFileSync(path, 'utf8') : undefined))
  const service = stack.use(await serve(settings, pino({ level: settings.logging.level })))
  const url = service.settings.urls.baseUrl
  const tenant = await createTenant(db.database)
  const opened = stack.move()
  return {
    service,
    url,
    dataDir,
    db,
    tenant,
    api: new Api(url, tenant.apiKey),
    async newTenant() {
      const other = await createTenant(db.database)
      return { tenant: other, api: new Api(url, other.apiKey) }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
