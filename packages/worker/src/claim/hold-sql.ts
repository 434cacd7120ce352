import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Claim, Task } from './claim.ts'

/** Returns the current task of a claim; null if the claim no longer stands. */
export async function taskOf(db: Queryable, claim: Claim): Promise<Task | null> {
  const { rows } = await db.query<{ task: Task | null }>({
    name: 'task-of',
    text: 'select task from executions where organization_id = $1 and session_id = $2 and token = $3 and holder = $4',
    values: [claim.organizationId, claim.sessionId, claim.token, claim.holder],
  })
  return rows[0]?.task ?? null
}

/** Returns whether the Run or the restore of a claim is still carried out, by this claim or by a later one. */
export async function goesOn(db: Queryable, { organizationId, sessionId, runId }: Claim): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'goes-on',
    text: `
      select 1 from executions
      where organization_id = $1 and session_id = $2 and task = $3 and run_id is not distinct from $4`,
    values: [organizationId, sessionId, runId === null ? 'restore' : 'run', runId],
  })
  return rowCount !== 0
}

/** Counts a worker's Runs that wait for people, by the rows' keys. The worker asks only when it is at its limit. */
export async function countAwaiting(db: Queryable, claims: readonly Claim[]): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: 'count-awaiting',
    text: `
      select count(*)::integer as count
      from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) as c (organization_id, session_id, token, holder)
      join executions e on e.organization_id = c.organization_id and e.session_id = c.session_id and e.token = c.token
        and e.holder = c.holder and e.task = 'run'
      join runs r on r.organization_id = e.organization_id and r.session_id = e.session_id and r.id = e.run_id
      where r.status = 'awaiting'`,
    values: columnsOf(claims),
  })
  return rows[0]?.count ?? 0
}

/**
 * Reads which of a worker's claims still stand, by the rows' keys.
 *
 * @returns the Sessions it still holds, as `organization/session`
 */
export async function liveClaims(db: Queryable, claims: readonly Claim[]): Promise<Set<string>> {
  const { rows } = await db.query<{ organization_id: string; session_id: string }>({
    name: 'standing-claims',
    text: `
      select e.organization_id, e.session_id
      from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) as c (organization_id, session_id, token, holder)
      join executions e on e.organization_id = c.organization_id and e.session_id = c.session_id and e.token = c.token
        and e.holder = c.holder and e.task is not null`,
    values: columnsOf(claims),
  })
  return new Set(rows.map(row => `${row.organization_id}/${row.session_id}`))
}

const keysOf = (claims: readonly Claim[]) => [
  claims.map(({ organizationId }) => organizationId),
  claims.map(({ sessionId }) => sessionId),
  claims.map(({ token }) => token),
]

const columnsOf = (claims: readonly Claim[]) => [...keysOf(claims), claims.map(({ holder }) => holder)]

/** Lapses one claim that could not be worked on; its next worker counts one more handover. */
export async function lapseClaim(db: Queryable, claim: Claim): Promise<void> {
  await db.query({
    name: 'lapse-claim',
    text: `
      update executions set expires_at = clock_timestamp()
      where organization_id = $1 and session_id = $2 and token = $3 and task is not null`,
    values: [claim.organizationId, claim.sessionId, claim.token],
  })
}

/**
 * SQL condition: a claim `e` of the process `$4` stands, and is none of those in `$1` to `$3`. `not in` hashes these under any
 * plan. With `not exists` the generic plan compared each with each, which took 4.1 s with 10 000 claims, against 14 ms.
 */
const isUnheld = `e.holder = $4 and e.task is not null and e.expires_at = 'infinity'
  and (e.organization_id, e.session_id, e.token) not in (select * from unnest($1::uuid[], $2::uuid[], $3::bigint[]))`

/** Returns true if rows name a process for a claim that it does not work on, or that is under way. */
export async function hasUnheld(db: Queryable, holder: string, held: readonly Claim[]): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>({
    name: 'has-unheld',
    text: `select exists (select 1 from executions e where ${isUnheld}) as has`,
    values: [...keysOf(held), holder],
  })
  return rows[0]?.has === true
}

/**
 * Lapses the claims of a living process that it does not work on, because the answer to their statement was lost. Nobody
 * else would: they stand as long as the row of the process.
 *
 * @param held the claims that it works on; none that it waits for may be under way beside this
 */
export async function lapseUnheld(db: Queryable, holder: string, held: readonly Claim[]): Promise<void> {
  await db.query({
    name: 'lapse-unheld',
    text: `update executions e set expires_at = clock_timestamp() where ${isUnheld}`,
    values: [...keysOf(held), holder],
  })
}

/**
 * Lapses the claims that nothing else can: those of processes without a row. Every process writes its row before it
 * claims, so a row is missing only after a restored backup or an operator's hand.
 */
export async function lapseOrphans(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(`
    update executions e set expires_at = clock_timestamp()
    where e.task is not null and e.expires_at = 'infinity' and not exists (
      select 1 from processes p where p.id = e.holder)`)
  return rowCount
}

/**
 * Proves under the row's lock that the claim still stands. The calling transaction may then write; a takeover waits for it.
 * Whether the claim has lapsed is not asked: until somebody takes it, with a higher token, nobody else writes. Call it after
 * the Session's lock, if both are needed, and before the lease is written. The Run may only be written afterwards under the
 * Session's lock: transactions without that lock take the Run first.
 *
 * @returns the claim's task; null if the claim does not stand
 */
export async function holdsFence(tx: Queryable, claim: Claim): Promise<Task | null> {
  const { rows } = await tx.query<{ task: Task }>({
    name: 'holds-fence',
    text: `
      select task from executions
      where organization_id = $1 and session_id = $2 and token = $3 and holder = $4 and task is not null
        and run_id is not distinct from $5
      for no key update`,
    values: [claim.organizationId, claim.sessionId, claim.token, claim.holder, claim.runId],
  })
  return rows[0]?.task ?? null
}

/**
 * Returns the token of an execution that nobody holds; null if somebody does, or nobody ever did. Nobody can take it until
 * the transaction ends.
 */
export async function unclaimedToken(tx: Queryable, key: SessionKey): Promise<number | null> {
  const { rows } = await tx.query<{ task: Task | null; token: number }>({
    name: 'unclaimed-token',
    text: 'select task, token from executions where organization_id = $1 and session_id = $2 for update',
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.task === null ? rows[0].token : null
}

/**
 * Returns true if a Run is under way on a lease that stands, whether or not a worker has it now: its agent may be at work,
 * and so may processes of earlier Runs, which go on when the sandbox does, before the Run has its credential.
 */
export async function isRunOnLease(db: Queryable, leaseId: string): Promise<boolean> {
  const { rows } = await db.query<{ there: boolean }>({
    name: 'is-run-on-lease',
    text: `
      select exists (
        select 1 from leases l
        join runs r on r.organization_id = l.organization_id and r.session_id = l.session_id and r.ended_at is null
        where l.id = $1 and l.ended_at is null and l.state = 'attached' and r.status <> 'queued') as there`,
    values: [leaseId],
  })
  return rows[0]?.there === true
}

/** Returns true if nobody holds the Session's execution. Nobody can take it until the transaction ends. */
export async function isUnclaimed(tx: Queryable, key: SessionKey): Promise<boolean> {
  const { rows } = await tx.query<{ task: Task | null }>({
    name: 'is-unclaimed',
    text: 'select task from executions where organization_id = $1 and session_id = $2 for update',
    values: [key.organizationId, key.sessionId],
  })
  return rows.length > 0 && rows[0]?.task === null
}
