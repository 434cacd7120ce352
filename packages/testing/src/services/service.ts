import { existsSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RestBounds } from '@berth/core/hosts/host-rest-sql.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { loadSettings } from '@berth/platform/settings/settings.ts'
import type { CallBounds } from '@berth/sandboxes/remote/create-driver.ts'
import { type RunningService, serve } from '@berth/server/serve.ts'
import { pino } from 'pino'
import { Api } from '../api/api.ts'
import { createTenant, type Tenant } from '../api/tenant.ts'
import { destroySandboxes } from '../faults/destroy-sandboxes.ts'
import { runDirectory } from '../leaks/run-directory.ts'
import { createTestDatabase, type TestDatabase } from '../storage/postgres.ts'

/** The whole service in this process, with real PostgreSQL, HTTP and sandboxes. */
export interface TestService extends AsyncDisposable {
  readonly service: RunningService
  readonly url: string
  readonly dataDir: string
  readonly db: TestDatabase
  readonly tenant: Tenant
  /** Calls the API with the key of `tenant`. */
  readonly api: Api
  /** Makes another organization with its own installation. */
  newTenant(): Promise<{ tenant: Tenant; api: Api }>
}

/** Returns the URL, as an operator would write it, of a database behind a unix socket. */
export function databaseUrl({ connection }: Pick<TestDatabase, 'connection'>): string {
  const { host, port, user, database } = connection
  return `postgresql://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`
}

/** A network without names and without anybody who answers. */
const noNetwork: Network = {
  lookUp: async () => [],
  resolve: async () => [],
  dial: () => Promise.reject(new Error('tests dial nobody')),
}

/**
 * Default settings of tests: a free port, claims that outlast a pause of a busy machine, and sandboxes
 * that cannot reach anything beyond this machine.
 */
export const testVariables = {
  BERTH_PORT: '0',
  BERTH_LOG_LEVEL: 'silent',
  BERTH_FENCE_SECONDS: '30',
  BERTH_EGRESS: 'none',
  // Sandboxes that stand ready cost every start of a service a second of both cores.
  BERTH_POOL_MOST: '0',
  BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
} as const

/** Default values of tests for those that no operator sets. */
export const testFixed: Partial<Fixed> = {
  // Bursts of 100,000 requests.
  callerBurstSeconds: 10_000,
  addressBurstSeconds: 2_000,
  issuanceBurstSeconds: 100_000,
  gatewayBurstSeconds: 1_000,
  // The console's requests to its account service have this bound, too. Both are this process, which may stand still for seconds.
  identityProviderMs: 60_000,
  // A test that stops a service in order to start another needs the sandboxes as they were.
  stopGivesBack: false,
}

/** For a test that kills a process: others take its claims over soon. */
export const shortFence = {
  // bound: the test waits for its whole length after each kill, and a process that stands still for as long loses its claims
  BERTH_FENCE_SECONDS: '4',
} as const

/** Settings of a process that works for a service's database. */
export const workerVariables = ({ db, dataDir }: Pick<TestService, 'db' | 'dataDir'>) => ({
  ...testVariables,
  ...shortFence,
  BERTH_ROLES: 'worker',
  BERTH_DATA_DIR: dataDir,
  DATABASE_URL: databaseUrl(db),
})

/** Returns the master key that the first process of a data directory made. */
function masterKeyIn(dataDir: string): string {
  return readFileSync(join(dataDir, 'master.key'), 'utf8').trim()
}

/** Returns settings for another process that serves beside an existing service, with its own data directory. */
export function variablesAlongside({ db, dataDir }: Pick<TestService, 'db' | 'dataDir'>) {
  return {
    DATABASE_URL: databaseUrl(db),
    BERTH_BLOBS: `file:${join(dataDir, 'blobs')}`,
    BERTH_MASTER_KEY: masterKeyIn(dataDir),
  }
}

/** Starts the service on its own database and data directory. Dispose of it in `afterAll`. */
export async function startTestService(
  options: {
    variables?: Record<string, string>
    /** Other values of those that no operator sets. */
    fixed?: Partial<Fixed>
    config?: object
    /** Fills the data directory as an operator would before the start. */
    prepare?: (dataDir: string) => Promise<void>
    /** Chooses the spelling of the database's URL. */
    url?: (db: TestDatabase) => string
    /** Network of webhooks; by default there is none. */
    network?: Network
    /** Directory of the console's page; by default the one of the build, if there is any. */
    consoleDirectory?: string
    /** Bounds of calls to hosts that dial the service. */
    hostCalls?: Partial<CallBounds>
    /** How long those hosts rest after failures. */
    hostRests?: RestBounds
  } = {},
): Promise<TestService> {
  await using stack = new AsyncDisposableStack()
  const dataDir = await runDirectory('service')
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
  const readFile = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)
  const settings = loadSettings(variables, readFile, () => false, { ...testFixed, ...options.fixed })
  const service = stack.use(
    await serve(settings, pino({ level: settings.logging.level }), {
      droppedLogLines: () => 0,
      network: options.network ?? noNetwork,
      ...(options.consoleDirectory !== undefined && { consoleDirectory: options.consoleDirectory }),
      ...(options.hostCalls !== undefined && { hostCalls: options.hostCalls }),
      ...(options.hostRests !== undefined && { hostRests: options.hostRests }),
    }),
  )
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
