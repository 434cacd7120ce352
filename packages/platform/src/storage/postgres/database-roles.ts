import pg from 'pg'
import { StartError } from '../../kit/start-error.ts'
import type { Database, Queryable } from './database.ts'
import { requireTriggers, revokeChanges, waysToChangeLog } from './log-guard.ts'
import { migrate } from './migrate.ts'
import { type DatabaseOptions, openDatabase } from './pool.ts'

/** An arbitrary number. PostgreSQL does not order changes of privileges, so this lock admits one process at a time. */
const advisoryLock = 7_215_530_115

/**
 * Brings the schema up to date. With an owner, the owner migrates and grants the service's role its privileges: to read
 * and write rows, but only to read and append to the event log, whose pages in the blob store the owner's functions write. The owner's connection is closed again.
 *
 * Triggers refuse changes of the log to everybody. An owner can disable them: they keep it from mistakes alone.
 * @param db database of the service
 * @param owner null if the service's role owns the schema and migrates it
 * @throws StartError if a role lacks a privilege that it needs or has one that it must not have, or a trigger is gone
 */
export async function prepareDatabase(db: Database, owner: DatabaseOptions | null): Promise<void> {
  if (owner === null) {
    await migrateAs(db, 'BERTH_MIGRATION_URL names a role that may')
    return requireTriggers(db)
  }
  const { rows } = await db.query<{ role: string }>('select current_user::text as role')
  const role = rows[0]?.role ?? ''
  await using administration = openDatabase({ ...owner, connections: 1, applicationName: 'berth-migration' })
  await requireSameDatabase(db, administration)
  await migrateAs(administration, 'it must own the schema')
  try {
    await administration.transaction(tx => grant(tx, role))
  } catch (error) {
    throw isDenied(error) ? await refusalOfGrant(administration, error) : error
  }
  await requirePlainRole(db, role)
  await requireTriggers(administration)
}

/** Returns true if this connection's role could change the event log whatever guards it. */
export async function couldChangeEvents(db: Queryable): Promise<boolean> {
  return (await waysToChangeLog(db)) === 'owner'
}

async function migrateAs(db: Database, remedy: string): Promise<void> {
  try {
    await migrate(db)
  } catch (error) {
    const denied = [error, error instanceof Error ? error.cause : undefined].find(isDenied)
    if (denied === undefined) throw error
    const { rows } = await db.query<{ role: string }>('select current_user::text as role')
    throw new StartError(
      `the database role ${rows[0]?.role} may not bring the schema up to date (${denied.message}); ${remedy} (docs/operations.md)`,
      { cause: error },
    )
  }
}

/** Grants in one transaction, so no other process sees a table with only part of its grants. */
async function grant(tx: Queryable, role: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock])
  const { rows } = await tx.query<{ schema: string }>('select current_schema() as schema')
  const schema = pg.escapeIdentifier(rows[0]?.schema ?? 'public')
  const grantee = pg.escapeIdentifier(role)
  await tx.query(`grant usage on schema ${schema} to ${grantee}`)
  await tx.query(`grant select, insert, update, delete on all tables in schema ${schema} to ${grantee}`)
  await revokeChanges(tx, grantee)
  await tx.query(`revoke insert, update, delete on schema_migrations from ${grantee}`)
}

/** Explains why a grant failed: a grant on all tables of a schema fails if another role owns one of them. */
async function refusalOfGrant(administration: Queryable, cause: Error): Promise<StartError> {
  const { rows } = await administration.query<{ role: string; name: string | null; owner: string | null }>(
    `select current_user::text as role, c.oid::regclass::text as name, relowner::regrole::text as owner
       from (select) as one left join pg_class c
         on relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
           and not pg_has_role(relowner, 'usage')
      order by 2`,
  )
  const role = rows[0]?.role
  const tables = rows.filter(({ name }) => name !== null)
  const start = `the database role ${role} of BERTH_MIGRATION_URL may not grant the service what it needs (${cause.message})`
  if (tables.length === 0) return new StartError(`${start}: it must own the schema (docs/operations.md)`, { cause })
  const named = tables.slice(0, NAMED_TABLES).map(({ name, owner }) => `${name} belongs to ${owner}`)
  const more = tables.length > NAMED_TABLES ? [`and ${tables.length - NAMED_TABLES} more`] : []
  const remedy = `run \`alter table ${tables[0]?.name} owner to ${role}\` as a superuser, or move what is not Berth's to another schema`
  return new StartError(
    `${start}: it must own every table of the schema, but ${[...named, ...more].join(', ')}; ${remedy} (docs/operations.md)`,
    { cause },
  )
}

/** The schema of another program may have hundreds. */
const NAMED_TABLES = 5

async function requireSameDatabase(db: Queryable, administration: Queryable): Promise<void> {
  const where = 'select current_database()::text as name, pg_postmaster_start_time()::text as since'
  const [own, owners] = await Promise.all(
    [db, administration].map(each => each.query<{ name: string; since: string }>(where)),
  )
  const [a, b] = [own?.rows[0], owners?.rows[0]]
  if (a?.name === b?.name && a?.since === b?.since) return
  throw new StartError(`BERTH_MIGRATION_URL must name the database of DATABASE_URL (${a?.name}), it names ${b?.name}`)
}

async function requirePlainRole(db: Queryable, role: string): Promise<void> {
  const way = await waysToChangeLog(db)
  if (way === null) return
  if (way === 'grants') {
    throw new StartError(
      `${role} of DATABASE_URL may change the log of Events, by a right that everybody has or a role that it is a member of: revoke update, delete, truncate and trigger on events and event_pages from those (docs/operations.md#separate-the-roles-of-the-database)`,
    )
  }
  throw new StartError(
    `BERTH_MIGRATION_URL asks for separate database roles, but ${role} of DATABASE_URL owns the schema, is a member of its owner, or is a superuser: give the service a role of its own (docs/operations.md)`,
  )
}

function isDenied(error: unknown): error is Error {
  return error instanceof pg.DatabaseError && error.code === '42501'
}
