import type { QueryConfig } from 'pg'
import { type Queryable, queryChanged } from '../storage/postgres/database.ts'

/** A process as its row names it. */
export interface ProcessIdentity {
  readonly id: string
  readonly host: string
  readonly roles: readonly string[]
  /** `BERTH_RELEASE` of the process. */
  readonly release: string | null
  /** Where other processes reach the sandboxes of the hosts that it holds; absent: nowhere. */
  readonly relayUrl?: string | undefined
  /** Others take over what it holds after so long a silence. */
  readonly patienceMs: number
}

/** SQL condition: a process was heard of recently enough to stand for what it holds. */
export const isHeard = (row: string): string => `${row}.heard_at + ${row}.patience >= statement_timestamp()`

/**
 * SQL join: processes whose silence lets others take over what they hold, as the row `lapsed`. A silence counts only while
 * the asking process was heard of itself. Otherwise the database was away, failed over or had its clock set, and nobody
 * was heard of: each process then waits as long as if all others had just been heard of.
 *
 * Clocks of processes have no part in it. A scan of `processes` is cheap, since each row is a process.
 *
 * @param asking expression of the id of the asking process
 */
export const lapsedProcesses = (asking: string): string => `
  processes asking join processes lapsed
    on asking.id = ${asking} and ${isHeard('asking')} and lapsed.id <> asking.id
    and greatest(lapsed.heard_at, asking.heard_since) + lapsed.patience < statement_timestamp()`

/**
 * Writes that a process is alive. The row comes back if it was deleted meanwhile: what the process holds is proven by
 * tokens, and never by this row.
 * @returns true if it was silent for so long, or for the first time, that others may have taken over what it holds
 */
export async function hearProcess(db: Queryable, process: ProcessIdentity): Promise<boolean> {
  const { rows } = await db.query<{ late: boolean }>({
    name: 'hear-process',
    text: `
      with before as (select not (${isHeard('p')}) as late from processes p where p.id = $1)
      insert into processes as p (id, host, roles, release, patience, started_at, heard_at, heard_since, relay_url)
      values ($1, $2, $3, $4, $5 * interval '1 millisecond', clock_timestamp(), clock_timestamp(), clock_timestamp(), $6)
      on conflict (id) do update set heard_at = clock_timestamp(),
        heard_since = case when ${isHeard('p')} then p.heard_since else clock_timestamp() end
      returning coalesce((select late from before), true) as late`,
    values: [process.id, process.host, process.roles, process.release, process.patienceMs, process.relayUrl ?? null],
  })
  return rows[0]?.late ?? true
}

/** Lets others take over at once what a process holds. It has to be silent from here on. */
export async function leaveProcess(db: Queryable, id: string): Promise<void> {
  await db.query({ text: "update processes set patience = '0' where id = $1", values: [id] })
}

/** First key of the advisory locks of processes; the second is a hash of the id. */
const LOCKS = 0x62727468

/** A process's lock, as others see it. */
export interface LockOfProcess {
  readonly id: string
  /** `heard_at` as text, which keeps microseconds. */
  readonly heardAt: string
  readonly patienceMs: number
  readonly held: boolean
}

/** Tries to take the lock of a process for the session. Somebody who looks at the moment makes it fail. */
export const holdLock = (id: string): QueryConfig => ({
  text: `select pg_try_advisory_lock(${LOCKS}, hashtext($1)) as held`,
  values: [id],
})

/**
 * Selects the locks of the other workers that are heard of. Each is tried in shared mode until the end of the statement, so
 * that those who look at the same time see the holder alone.
 */
export const locksOfPeers = (id: string): QueryConfig => ({
  name: 'locks-of-workers',
  text: `
    select id, heard_at::text as "heardAt", (extract(epoch from patience) * 1000)::float8 as "patienceMs",
      not pg_try_advisory_xact_lock_shared(${LOCKS}, hashtext(id)) as held
    from processes where id <> $1 and 'worker' = any (roles) and ${isHeard('processes')}`,
  values: [id],
})

/**
 * Ends the row of a process that has not been heard of since a time, if the asking process was heard of throughout.
 * @param heardAt as the look at its lock found it
 * @returns false if it was heard of again
 */
export async function endSilentProcess(db: Queryable, id: string, heardAt: string, asking: string): Promise<boolean> {
  return await queryChanged(db, {
    text: `
      update processes p set patience = '0' from processes asking
      where p.id = $1 and p.heard_at = $2::timestamptz and p.patience > '0' and asking.id = $3 and ${isHeard('asking')}
        and asking.heard_since <= p.heard_at`,
    values: [id, heardAt, asking],
  })
}

/** Deletes the rows of processes that have been silent for an hour, unless a claim still names them. */
export async function forgetProcesses(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(`
    delete from processes p where p.heard_at + p.patience < clock_timestamp() - interval '1 hour' and not exists (
      select 1 from executions e where e.holder = p.id and e.task is not null)`)
  return rowCount
}
