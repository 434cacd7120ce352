import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny, queryRow, type Statement } from '@berth/platform/storage/postgres/database.ts'
import type { Brought } from './brought.ts'
import { changeCheckpoints } from './change-checkpoints.ts'
import { continuationRun } from './continuation-run.ts'

/** A sealed Run, as far as a restore needs it. Manifests are the small heads of trees; blobs hold the rest. */
export interface CheckpointRow {
  readonly run_id: string
  readonly runtime: string
  readonly conversation: 'exact' | 'result_only'
  readonly agent_session_id: string | null
  readonly workspace_manifest: string
  readonly home_manifest: string | null
  /** Commits that the workspace holds besides the pinned one; null: none. */
  readonly brought: Brought | null
  readonly sealed_at: Date
  readonly damaged_at: Date | null
}

/** Returns the checkpoint from which the next Turn or a parked Run continues. */
export async function findResumable(db: Queryable, key: SessionKey): Promise<CheckpointRow | null> {
  return await queryRow<CheckpointRow>(db, {
    name: 'find-resumable',
    text: `
      select c.* from sessions s
      cross join lateral (${continuationRun('s')}) newest
      join checkpoints c on c.organization_id = s.organization_id and c.session_id = s.id and c.run_id = newest.id
      where s.organization_id = $1 and s.id = $2 and c.damaged_at is null`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Returns true if a Run was sealed, at its end or while it waited for people. */
export async function hasCheckpoint(db: Queryable, key: SessionKey, runId: string): Promise<boolean> {
  return await queryAny(db, {
    name: 'has-checkpoint',
    text: 'select 1 from checkpoints where organization_id = $1 and session_id = $2 and run_id = $3',
    values: [key.organizationId, key.sessionId, runId],
  })
}

/** Returns true if the checkpoint of the newest begun Run has everything that this Run left in its sandbox. */
export async function isNewestWorkSealed(db: Queryable, key: SessionKey): Promise<boolean> {
  return await queryAny(db, {
    name: 'is-newest-work-sealed',
    text: `
      select 1 from (
        select r.id, r.ended_at from turns t
        join runs r on r.organization_id = t.organization_id and r.session_id = t.session_id and r.id = t.run_id
        where t.organization_id = $1 and t.session_id = $2 and r.started_at is not null
        order by t.sequence desc limit 1
      ) newest
      join checkpoints c on c.organization_id = $1 and c.session_id = $2 and c.run_id = newest.id
      where newest.ended_at is not null and c.damaged_at is null`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Returns true if a sandbox of the Session may end without a loss: no Run has begun, or the newest that has is sealed. */
export async function isAllWorkSealed(
  db: Queryable,
  key: SessionKey,
  session: { readonly first_run_started_at: Date | null },
): Promise<boolean> {
  return session.first_run_started_at === null || isNewestWorkSealed(db, key)
}

/** Returns the Session's newest checkpoint, on which the next seal of the same tree builds. */
export async function findNewestCheckpoint(db: Queryable, key: SessionKey): Promise<CheckpointRow | null> {
  return await queryRow<CheckpointRow>(db, {
    name: 'find-newest-checkpoint',
    text: `
      select * from checkpoints where organization_id = $1 and session_id = $2 and damaged_at is null
      order by sealed_at desc limit 1`,
    values: [key.organizationId, key.sessionId],
  })
}

export interface NewCheckpoint extends Omit<CheckpointRow, 'damaged_at'> {
  readonly stored_bytes: number
  /** Digests of all its blobs. */
  readonly blobs: readonly string[]
}

/**
 * Records a checkpoint that is whole in the blob store. It replaces an earlier one of the same Run, from when the Run
 * was parked, and removes older ones.
 * @param kept how many stay with it; at least 2, since a running restore may still read the newest but one
 */
export async function insertCheckpoint(
  tx: Queryable,
  key: SessionKey,
  checkpoint: NewCheckpoint,
  kept: number,
): Promise<void> {
  const { organizationId, sessionId } = key
  await changeCheckpoints(tx, key, [
    dropping(key, checkpoint.run_id),
    {
      text: `
        insert into checkpoints (organization_id, session_id, run_id, runtime, conversation, agent_session_id,
          workspace_manifest, home_manifest, stored_bytes, blobs, sealed_at, brought)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      values: [
        organizationId,
        sessionId,
        checkpoint.run_id,
        checkpoint.runtime,
        checkpoint.conversation,
        checkpoint.agent_session_id,
        checkpoint.workspace_manifest,
        checkpoint.home_manifest,
        checkpoint.stored_bytes,
        checkpoint.blobs,
        checkpoint.sealed_at,
        checkpoint.brought === null ? null : JSON.stringify(checkpoint.brought),
      ],
    },
    {
      text: `
        delete from checkpoints where organization_id = $1 and session_id = $2 and run_id in (
          select run_id from checkpoints where organization_id = $1 and session_id = $2 and run_id <> $3
          order by sealed_at desc offset $4)`,
      values: [organizationId, sessionId, checkpoint.run_id, kept - 1],
    },
  ])
}

const dropping = ({ organizationId, sessionId }: SessionKey, runId: string): Statement => ({
  text: 'delete from checkpoints where organization_id = $1 and session_id = $2 and run_id = $3',
  values: [organizationId, sessionId, runId],
})

/** Removes the checkpoint of a Run that ended, if it is from when the Run was parked and so lacks its later work. */
export async function dropParkedCheckpoint(tx: Queryable, key: SessionKey, runId: string): Promise<void> {
  await changeCheckpoints(tx, key, [
    {
      text: `
        delete from checkpoints c using runs r
        where c.organization_id = $1 and c.session_id = $2 and c.run_id = $3
          and r.organization_id = $1 and r.session_id = $2 and r.id = $3 and c.sealed_at < r.ended_at`,
      values: [key.organizationId, key.sessionId, runId],
    },
  ])
}

/** Returns whether a Run was sealed after its end. */
export async function wasSealed(db: Queryable, key: SessionKey, runId: string): Promise<boolean> {
  return await queryAny(db, {
    name: 'was-sealed',
    text: `
      select 1 from checkpoints c
      join runs r on r.organization_id = c.organization_id and r.session_id = c.session_id and r.id = c.run_id
      where c.organization_id = $1 and c.session_id = $2 and c.run_id = $3 and c.sealed_at >= r.ended_at`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/** Removes all checkpoints of a Session. */
export async function dropCheckpoints(tx: Queryable, key: SessionKey): Promise<void> {
  await changeCheckpoints(tx, key, [
    {
      text: 'delete from checkpoints where organization_id = $1 and session_id = $2',
      values: [key.organizationId, key.sessionId],
    },
  ])
}

/** Marks a checkpoint as damaged, so that it is never offered again. */
export async function markDamaged(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  await changeCheckpoints(tx, key, [
    {
      text: `
        update checkpoints set damaged_at = $4
        where organization_id = $1 and session_id = $2 and run_id = $3 and damaged_at is null`,
      values: [key.organizationId, key.sessionId, runId, now],
    },
  ])
}
