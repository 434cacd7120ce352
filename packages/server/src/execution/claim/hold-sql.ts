import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
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
 * Renews a worker's claims by the rows' keys. Every renewal would write an index on the holder; without such an index,
 * each worker would read the rows of all others.
 *
 * @returns the Sessions it still holds, as `organization/session`
 */
export async function renewClaims(
  db: Queryable,
  claims: readonly Claim[],
  now: Date,
  expiresAt: Date,
): Promise<Set<string>> {
  const { rows } = await db.query<{ organization_id: string; session_id: string }>({
    name: 'renew-claims',
    text: `
      update executions e set heartbeat_at = $5, expires_at = $6
      from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) as c (organization_id, session_id, token, holder)
      where e.organization_id = c.organization_id and e.session_id = c.session_id and e.token = c.token
        and e.holder = c.holder and e.task is not null
      returning e.organization_id, e.session_id`,
    values: [...columnsOf(claims), now, expiresAt],
  })
  return new Set(rows.map(row => `${row.organization_id}/${row.session_id}`))
}

const columnsOf = (claims: readonly Claim[]) => [
  claims.map(({ organizationId }) => organizationId),
  claims.map(({ sessionId }) => sessionId),
  claims.map(({ token }) => token),
  claims.map(({ holder }) => holder),
]

/** Lapses the claims of a worker that stops, so that others take over at once. */
export async function lapseClaims(db: Queryable, holder: string, now: Date): Promise<void> {
  await db.query({
    text: `
      update executions set expires_at = $2::timestamptz - interval '1 millisecond'
      where holder = $1 and task is not null`,
    values: [holder, now],
  })
}

/** Lapses one claim that could not be worked on; its next worker counts one more handover. */
export async function lapseClaim(db: Queryable, claim: Claim, now: Date): Promise<void> {
  await db.query({
    text: `
      update executions set expires_at = $4::timestamptz - interval '1 millisecond'
      where organization_id = $1 and session_id = $2 and token = $3 and task is not null`,
    values: [claim.organizationId, claim.sessionId, claim.token, now],
  })
}

/**
 * Proves under the row's lock that the claim still stands. The calling transaction may then write; a takeover waits for
 * it. Call it after the Session's lock, if both are needed, and before the lease is written. The Run may only be
 * written afterwards under the Session's lock: transactions without that lock take the Run first.
 *
 * @returns the claim's task; null if the claim does not stand
 */
export async function holdsFence(tx: Queryable, claim: Claim, now: Date): Promise<Task | null> {
  const { rows } = await tx.query<{ task: Task }>({
    name: 'holds-fence',
    text: `
      update executions set heartbeat_at = greatest(heartbeat_at, $6)
      where organization_id = $1 and session_id = $2 and token = $3 and holder = $4 and task is not null
        and run_id is not distinct from $5
      returning task`,
    values: [claim.organizationId, claim.sessionId, claim.token, claim.holder, claim.runId, now],
  })
  return rows[0]?.task ?? null
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
