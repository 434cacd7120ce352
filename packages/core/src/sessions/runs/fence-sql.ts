import type { Fence } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny } from '@berth/platform/storage/postgres/database.ts'

/** Frees the Session's execution: from here on the database takes no write of the worker that held it. */
export async function releaseFence(tx: Queryable, key: SessionKey): Promise<void> {
  await tx.query({
    name: 'release-fence',
    text: 'update executions set task = null, run_id = null where organization_id = $1 and session_id = $2',
    values: [key.organizationId, key.sessionId],
  })
}

/** Frees the execution if it is this Run's: while one Run waits, a worker may still seal the one before. */
export async function releaseFenceOf(tx: Queryable, key: SessionKey, runId: string): Promise<void> {
  await tx.query({
    name: 'release-fence-of',
    text: `
      update executions set task = null, run_id = null
      where organization_id = $1 and session_id = $2 and run_id = $3`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/** Keeps the fence of a Run that has ended, so that its worker can seal the workspace. */
export async function keepFenceToSeal(tx: Queryable, key: SessionKey, runId: string): Promise<void> {
  await tx.query({
    name: 'keep-fence-to-seal',
    text: `
      update executions set task = 'seal'
      where organization_id = $1 and session_id = $2 and run_id = $3 and task = 'run'`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/**
 * Offers a parked Run, which is running but has no worker, to any worker, as if its claim had lapsed. It continues in
 * the same attempt.
 * @returns true if there was one
 */
export async function offerParked(tx: Queryable, key: SessionKey, runId: string): Promise<boolean> {
  return await queryAny(tx, {
    text: `
      update executions e set task = 'run', run_id = r.id, attempt = r.attempts, expires_at = 'epoch'
      from runs r
      where e.organization_id = $1 and e.session_id = $2 and e.task is null
        and r.organization_id = $1 and r.session_id = $2 and r.id = $3 and r.status = 'running'
      returning 1`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/**
 * Offers the sandbox of an idle Session to any worker of its host, to be sealed once more as its newest Run left it, as if
 * the claim of that seal had lapsed. The caller holds the Session's lock.
 * @returns false if no Run has ended, or a worker holds the Session
 */
export async function offerSeal(tx: Queryable, key: SessionKey): Promise<boolean> {
  return await queryAny(tx, {
    text: `
      with newest as (
        update runs r set handovers = 0
        where (r.organization_id, r.session_id, r.id) = (
          select t.organization_id, t.session_id, t.run_id from turns t
          join runs begun on begun.organization_id = t.organization_id and begun.session_id = t.session_id
            and begun.id = t.run_id and begun.started_at is not null
          where t.organization_id = $1 and t.session_id = $2 order by t.sequence desc limit 1)
          and r.ended_at is not null
        returning r.id, r.attempts
      )
      update executions e set task = 'seal', run_id = newest.id, attempt = newest.attempts, expires_at = 'epoch'
      from newest where e.organization_id = $1 and e.session_id = $2 and e.task is null
      returning 1`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Returns the fence of a Session, or null while nothing executes. */
export async function readFence(db: Queryable, key: SessionKey): Promise<Fence | null> {
  const { rows } = await db.query<{
    run_id: string
    turn_id: string
    attempt: number
    token: number
    holder: string
    acquired_at: Date
    heard_at: Date
    ends_at: Date
  }>({
    name: 'read-fence',
    text: `
      select e.*, r.turn_id, coalesce(p.heard_at, e.heartbeat_at) as heard_at,
        case when e.expires_at < 'infinity' then e.expires_at else coalesce(p.heard_at + p.patience, e.heartbeat_at) end
          as ends_at
      from executions e
      left join processes p on p.id = e.holder
      join runs r on r.organization_id = e.organization_id and r.session_id = e.session_id and r.id = e.run_id
      where e.organization_id = $1 and e.session_id = $2 and r.ended_at is null and r.status <> 'queued'`,
    values: [key.organizationId, key.sessionId],
  })
  const row = rows[0]
  if (row === undefined) return null
  return {
    runId: row.run_id,
    turnId: row.turn_id,
    attempt: row.attempt,
    token: row.token,
    holder: row.holder,
    acquiredAt: row.acquired_at.toISOString(),
    heartbeatAt: row.heard_at.toISOString(),
    expiresAt: row.ends_at.toISOString(),
  }
}
