import pg from 'pg'
import type { Log } from '../../kit/log.ts'
import { StartError } from '../../kit/start-error.ts'
import type { Database, Queryable } from './database.ts'
import { DatabaseUnavailable } from './database-errors.ts'
import { applicationName } from './pool.ts'

/** The tables of the log, with the function that refuses to change their rows. */
const guarded = [
  { table: 'events', refuse: 'refuse_change' },
  { table: 'event_pages', refuse: 'refuse_page_change' },
] as const

type Guarded = (typeof guarded)[number]

/** SQL condition: a row `c` of pg_class is a table of the log. */
const isOfLog = `c.oid in (${guarded.map(({ table }) => `'${table}'::regclass`).join(', ')})`

const triggersOf = ({ table, refuse }: Guarded) => [
  {
    name: `${table}_are_immutable`,
    when: `before update or delete on ${table} for each row execute function ${refuse}()`,
  },
  { name: `${table}_are_kept`, when: `before truncate on ${table} for each statement execute function ${refuse}()` },
]

/** An arbitrary number. Starts change triggers one after the other. */
const advisoryLock = 7_215_530_116
/**
 * A change of a trigger waits for everybody who works on the table, and everybody else waits behind it. So it waits
 * briefly, and often.
 */
const lockTimeoutMs = 500
const most = { creations: 120, drops: 4 }

/** How a role may change the log in spite of its grants: it owns the tables, or other grants let it; null: not at all. */
export async function waysToChangeLog(db: Queryable): Promise<'owner' | 'grants' | null> {
  const { rows } = await db.query<{ owns: boolean; granted: boolean }>(`
    select bool_or(pg_has_role(c.relowner, 'member')) as owns,
      bool_or(has_table_privilege(c.oid, 'delete, truncate, trigger') or has_any_column_privilege(c.oid, 'update')
        or c.relname = 'event_pages' and has_any_column_privilege(c.oid, 'insert')) as granted
    from pg_class c where ${isOfLog}`)
  if (rows[0]?.owns === true) return 'owner'
  return rows[0]?.granted === true ? 'grants' : null
}

/** Takes all other rights to the log from a role: it reads and appends Events, and the owner's functions do the rest. */
export async function revokeChanges(tx: Queryable, grantee: string): Promise<void> {
  await tx.query(`revoke update, delete, truncate, trigger on events from ${grantee}`)
  await tx.query(`revoke insert, update, delete, truncate, trigger on event_pages from ${grantee}`)
}

/**
 * Makes sure that a service whose role could change the log does not do so by mistake: triggers refuse it. They are the
 * only guard where one role does everything. If they stand already, no lock is taken.
 * @throws StartError if they are missing and cannot be made
 */
export async function guardByTriggers(db: Database): Promise<void> {
  const way = await waysToChangeLog(db)
  if (way === null) return
  for (const table of guarded) {
    if ((await enabledTriggers(db, table)).length === triggersOf(table).length) continue
    if (way === 'grants') {
      throw new StartError(
        `the database role ${await roleOf(db)} may change the log of Events, and no trigger refuses it: start a process with BERTH_MIGRATION_URL first, which takes that right away (docs/operations.md#separate-the-roles-of-the-database)`,
      )
    }
    const made = await patiently(db, most.creations, async tx => {
      for (const { name, when } of triggersOf(table)) await tx.query(`create or replace trigger ${name} ${when}`)
    })
    if (made) continue
    throw new StartError(
      `the table ${table.table} has no triggers that guard the log, and a transaction on it keeps them from being made: end it (select * from pg_stat_activity), then start again`,
    )
  }
}

/**
 * Drops the triggers where grants hold the log append-only for the service's role. They stay until a later start while
 * processes work as the owner, whom grants do not bind, or while a transaction keeps them from being dropped. Then they
 * refuse only changes that nobody may make.
 */
export async function guardByGrants(owner: Database, log: Log): Promise<void> {
  const left: Guarded[] = []
  for (const table of guarded) if ((await enabledTriggers(owner, table)).length > 0) left.push(table)
  if (left.length === 0) return
  if (await isServedByOwner(owner)) {
    log.warn(
      'processes work as the owner of the log, whom grants do not bind: its triggers stay until they are stopped and a process starts (docs/operations.md#separate-the-roles-of-the-database)',
    )
    return
  }
  for (const table of left) {
    await patiently(owner, most.drops, async tx => {
      for (const { name } of triggersOf(table)) await tx.query(`drop trigger if exists ${name} on ${table.table}`)
    })
  }
}

/** Returns true if a process of Berth is connected as the owner of the log, other than to migrate. */
async function isServedByOwner(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from pg_stat_activity a join pg_class c on c.relowner = a.usesysid
     where a.datname = current_database() and a.application_name = $1 and ${isOfLog} limit 1`,
    [applicationName],
  )
  return rowCount > 0
}

/** Returns those triggers of a table that are there and enabled. */
async function enabledTriggers(db: Queryable, table: Guarded): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select tgname as name from pg_trigger
     where tgrelid = $1::regclass and tgname = any($2) and not tgisinternal and tgenabled in ('O', 'A')`,
    [table.table, triggersOf(table).map(({ name }) => name)],
  )
  return rows.map(({ name }) => name)
}

/** Runs `change` in a transaction that waits briefly for its locks, again and again. @returns false if it never got them */
async function patiently(db: Database, tries: number, change: (tx: Queryable) => Promise<void>): Promise<boolean> {
  for (let left = tries; left > 0; left -= 1) {
    try {
      await db.transaction(async tx => {
        await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock])
        await tx.query(`set local lock_timeout = ${lockTimeoutMs}`)
        await change(tx)
      })
      return true
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || !isLockTimeout(error.cause)) throw error
    }
  }
  return false
}

const isLockTimeout = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === '55P03'

async function roleOf(db: Queryable): Promise<string | undefined> {
  return (await db.query<{ role: string }>('select current_user::text as role')).rows[0]?.role
}
