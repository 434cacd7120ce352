import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capabilities } from '@berth/contract'
import type { SessionKey } from '../../packages/platform/src/kit/session-key.ts'
import { startEmbeddedPostgres } from '../../packages/platform/src/storage/embedded/embedded-postgres.ts'
import { credentialDigest } from '../../packages/platform/src/storage/master-key.ts'
import { migrate } from '../../packages/platform/src/storage/postgres/migrate.ts'
import { openDatabase, type PooledDatabase } from '../../packages/platform/src/storage/postgres/pool.ts'

/** An embedded PostgreSQL in its own directory, with one tenant. */
export interface BenchDatabase extends AsyncDisposable {
  readonly dataDir: string
  readonly connection: { host: string; port: number; user: string; database: string }
  readonly url: string
  readonly db: PooledDatabase
  readonly organizationId: string
  readonly installationId: string
  readonly apiKey: string
  newSessions(count: number): Promise<SessionKey[]>
}

export const quiet = { info() {}, warn() {}, error: console.error }

export async function openBenchDatabase(connections = 20): Promise<BenchDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-bench-'))
  const server = await startEmbeddedPostgres({ dataDir, log: quiet })
  const { host, port, user, database } = server.administration
  const connection = { host, port, user, database }
  const db = openDatabase({ connection, log: quiet, connections, statementTimeoutMs: 600_000 })
  await migrate(db)
  const organizationId = randomUUID()
  const installationId = randomUUID()
  const apiKey = `svc_cloud_live_${randomBytes(32).toString('base64url')}`
  const now = new Date()
  await db.query('insert into organizations (id, name, created_at) values ($1, $2, $3)', [organizationId, 'bench', now])
  await db.query('insert into apps (slug, organization_id, name, created_at) values ($1, $2, $1, $3)', [
    'bench',
    organizationId,
    now,
  ])
  await db.query(
    'insert into installations (id, organization_id, app_slug, capabilities, created_at) values ($1, $2, $3, $4, $5)',
    [installationId, organizationId, 'bench', capabilities, now],
  )
  await db.query(
    "insert into api_keys (id, installation_id, kind, digest, created_at) values ($1, $2, 'cloud', $3, $4)",
    [randomUUID(), installationId, credentialDigest(apiKey), now],
  )
  return {
    dataDir,
    connection,
    url: `postgresql://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`,
    db,
    organizationId,
    installationId,
    apiKey,
    async newSessions(count) {
      const { rows } = await db.query<{ id: string }>(
        `insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
         select $1, gen_random_uuid(), 'app_installation', $2, '', 'bench', now(), now() - n * interval '10 milliseconds'
         from generate_series(1, $3) n returning id`,
        [organizationId, installationId, count],
      )
      return rows.map(({ id }) => ({ organizationId, sessionId: id }))
    },
    async [Symbol.asyncDispose]() {
      await db.close()
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
