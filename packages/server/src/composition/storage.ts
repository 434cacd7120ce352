import { StartError, toStartError } from '@berth/platform/kit/start-error.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import type { IdentifiedBlobs } from '@berth/platform/storage/blobs/blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { requireOwnStore, type StoreIdentity } from '@berth/platform/storage/blobs/store-identity.ts'
import { startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { requireDeploymentKey } from '@berth/platform/storage/keys/deployment-key.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { couldChangeEvents, prepareDatabase } from '@berth/platform/storage/postgres/database-roles.ts'
import {
  type ConnectionTarget,
  type DatabaseOptions,
  openDatabase,
  type PooledDatabase,
} from '@berth/platform/storage/postgres/pool.ts'
import { requireFitPooler } from '@berth/platform/storage/postgres/pooler.ts'
import type { Logger } from 'pino'

/** The migrated database of a deployment. */
export interface DeploymentDatabase {
  readonly db: PooledDatabase
  /** Options of connections with a server process of their own. */
  readonly direct: DatabaseOptions
}

/**
 * Opens the database that the settings name, or starts the embedded one, and migrates it.
 * @throws StartError if it cannot be used
 */
export async function openDeploymentDatabase(
  settings: Settings,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<DeploymentDatabase> {
  const { connection, owner } = await connect(settings, log, stack)
  const options = { connection, log, connections: settings.database.connections }
  const { directUrl } = settings.database
  const direct = directUrl === undefined ? options : { ...options, connection: { connectionString: directUrl } }
  const db = stack.use(openDatabase(options))
  try {
    if (settings.database.url !== undefined) await requireFitPooler(options, direct)
    await prepareDatabase(db, owner === null ? null : { connection: owner, log })
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
    throw new StartError(`the database cannot be used: ${error.message}`, { cause: error })
  }
  if (settings.production && owner === null && (await couldChangeEvents(db))) {
    log.warn(
      'the database role owns the event log and could change it: give the service a role of its own (docs/operations.md)',
    )
  }
  return { db, direct }
}

/** Opens the blob store and makes sure that it belongs to this database. */
export async function openBlobStore(
  settings: Settings,
  db: PooledDatabase,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<{ readonly blobs: IdentifiedBlobs; readonly store: StoreIdentity }> {
  const blobs = await openBlobs(settings, log, stack)
  return { blobs, store: await requireOwnStore(db, blobs, placeOf(settings)) }
}

/** Finds the key that seals secrets and makes sure that it is the deployment's. */
export async function openMasterKey(settings: Settings, db: PooledDatabase, log: Logger): Promise<MasterKey> {
  return await requireDeploymentKey(db, { key: settings.masterKey, dataDir: settings.dataDir, log })
}

/** Returns the service's connection to its database, and the schema owner's if that is another role. */
async function connect(
  { dataDir, database: { url, migrationUrl } }: Settings,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<{ readonly connection: ConnectionTarget; readonly owner: ConnectionTarget | null }> {
  if (url !== undefined) {
    const owner = migrationUrl === undefined ? null : { connectionString: migrationUrl }
    return { connection: { connectionString: url }, owner }
  }
  const embedded = stack.use(await startEmbeddedPostgres({ dataDir, log }))
  return { connection: embedded.connection, owner: embedded.administration }
}

async function openBlobs(
  { blobs: { store }, dataDir }: Settings,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<IdentifiedBlobs> {
  if (store.kind === 'file') {
    return FileBlobs.open(store.directory).catch(error => {
      throw toStartError(error, `blobs cannot be stored in ${store.directory} (BERTH_BLOBS)`)
    })
  }
  // The SDK takes a tenth of a second to load, so load it only if the deployment uses S3.
  const { S3Blobs } = await import('@berth/platform/storage/blobs/s3-blobs.ts')
  return stack.use(await S3Blobs.open(store.location, { spoolDirectory: dataDir, log }))
}

/** Returns the operator's name for a blob store. */
function placeOf({ blobs: { store } }: Settings): string {
  return store.kind === 'file' ? store.directory : `s3://${store.location.bucket}/${store.location.prefix}`
}
