import type { Effort } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import {
  type Queryable,
  queryAny,
  queryChanged,
  queryRow,
  queryRows,
} from '@berth/platform/storage/postgres/database.ts'
import type { Brought, Placing } from '../../checkpoints/brought.ts'
import type { EgressRule } from '../../environments/egress-rule.ts'
import { takes } from '../../runtimes/own-hosts.ts'
import { isLostHost } from '../../runtimes/runtime-hosts.ts'
import type { ApplyReport } from './apply-report.ts'

export type LeaseEnd = 'expired' | 'lost' | 'archived' | 'abandoned'

/** A sandbox on lease. */
export interface LeaseRow {
  readonly id: string
  readonly organization_id: string
  readonly session_id: string
  readonly host: string
  readonly runtime: string
  readonly state: 'creating' | 'applying' | 'attached' | 'ended'
  readonly created_at: Date
  readonly expires_at: Date
  readonly bound_at: Date
  readonly idle_ms: number
  readonly journal_offset: number
  readonly replay_from: number
  readonly agent_generation: number
  readonly agent_state: 'none' | 'started' | 'initialized' | 'loaded' | 'ready' | 'exited'
  readonly agent_loads_sessions: boolean
  readonly agent_mcp: readonly ('http' | 'sse')[]
  readonly agent_session_id: string | null
  /** The model that the agent process was started for, if its variables name one. */
  readonly agent_model: string | null
  /** The effort that it was started for, in the same way. */
  readonly agent_effort: Effort | null
  readonly active_prompt: string | null
  /** The release whose engine the sandbox runs; null for the built-in one. */
  readonly release_sha: string | null
  readonly engine_sha256: string | null
  /** The conversation before this sandbox, for an agent that cannot load it; its first prompt tells it. */
  readonly recap: string | null
  /** The environment that sets the sandbox up, and its revision; null without one. */
  readonly environment_id: string | null
  readonly environment_revision: number | null
  /** The environment's secrets; null without an environment, and if the master key could not open one. */
  readonly environment_secrets: readonly LeaseSecret[] | null
  /** Names of secrets that the organization keeps for other environments. */
  readonly secrets_left_out: readonly string[]
  /** Hosts that the organization closes to sandboxes, as it was when the row was written. */
  readonly never_hosts: readonly string[]
  /** How far the environment is applied; null until that begins. */
  readonly apply: ApplyReport | null
  /** The image that the sandbox started from, or that was made of it; its host keeps that. */
  readonly image_digest: string | null
  /** The checkout that the sandbox shows below its own files; null: none. */
  readonly tree: string | null
  /** Commits that the workspace holds besides the pinned one; null: none. */
  readonly brought: Brought | null
  /** A merge whose files may be half written; null: none. */
  readonly merging: Placing | null
}

/** A secret of a lease: its value is the remembered secret of the Session with this digest. */
export interface LeaseSecret {
  readonly name: string
  /** In hexadecimal digits. */
  readonly digest: string
  /** Absent: programs get the value. Otherwise they hold a placeholder, and the proxy puts the value into requests. */
  readonly egress?: EgressRule
}

/** Returns the lease that has not ended; each Session has at most one (`leases_live`). */
export async function findLiveLease(db: Queryable, key: SessionKey): Promise<LeaseRow | null> {
  return await queryRow<LeaseRow>(db, {
    name: 'find-live-lease',
    text: 'select * from leases where organization_id = $1 and session_id = $2 and ended_at is null',
    values: [key.organizationId, key.sessionId],
  })
}

/**
 * Writes the intent to make a sandbox before anyone makes it, so that the sweeper finds the rest of a crash in between.
 * @throws Error for a host that does not work for the organization
 */
export async function insertLease(
  tx: Queryable,
  key: SessionKey,
  lease: {
    readonly id: string
    readonly driver: string
    readonly host: string
    readonly runtime: string
    readonly idleMs: number
    readonly maxMs: number
    readonly now: Date
    /** The release that the sandbox tries. */
    readonly release?: Pick<LeaseRow, 'release_sha' | 'engine_sha256'> | null
    /** The environment that sets the sandbox up. */
    readonly environment?: {
      readonly id: string
      readonly revision: number
      readonly secrets: readonly LeaseSecret[] | null
      readonly leftOut?: readonly string[]
    } | null
    readonly neverHosts?: readonly string[]
  },
): Promise<LeaseRow> {
  const { rows } = await tx.query<LeaseRow>({
    text: `
      insert into leases (id, organization_id, session_id, driver, host, runtime, state, created_at, expires_at, bound_at,
        idle_ms, release_sha, engine_sha256, environment_id, environment_revision, environment_secrets,
        secrets_left_out, never_hosts)
      select $1, $2, $3, $4, $5, $6, 'creating', $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
      from (select) as lease left join hosts h on h.id = $5
      where ${takes('h', '$2')}
      returning *`,
    values: [
      lease.id,
      key.organizationId,
      key.sessionId,
      lease.driver,
      lease.host,
      lease.runtime,
      lease.now,
      new Date(lease.now.getTime() + Math.min(lease.idleMs, lease.maxMs)),
      new Date(lease.now.getTime() + lease.maxMs),
      lease.idleMs,
      lease.release?.release_sha ?? null,
      lease.release?.engine_sha256 ?? null,
      lease.environment?.id ?? null,
      lease.environment?.revision ?? null,
      lease.environment?.secrets ? JSON.stringify(lease.environment.secrets) : null,
      lease.environment?.leftOut ?? [],
      lease.neverHosts ?? [],
    ],
  })
  const row = rows[0]
  if (row === undefined) throw new Error(`host ${lease.host} does not work for the organization`)
  return row
}

/** Returns whether the Session's attached sandbox lies on a host that does not take its organization any more. */
export async function isLeaseElsewhere(tx: Queryable, key: SessionKey): Promise<boolean> {
  return await queryChanged(tx, {
    name: 'is-lease-elsewhere',
    text: `
      select from leases l left join hosts h on h.id = l.host
      where l.organization_id = $1 and l.session_id = $2 and l.ended_at is null and l.state = 'attached'
        and not ${takes('h', 'l.organization_id')}`,
    values: [key.organizationId, key.sessionId],
  })
}

/** Sets the conversation that the sandbox's next agent process loads or is told of. */
export async function startAgentFrom(
  tx: Queryable,
  leaseId: string,
  from: { readonly agentSessionId: string | null; readonly recap: string | null },
): Promise<void> {
  await tx.query({
    text: 'update leases set agent_session_id = $2, recap = $3 where id = $1',
    values: [leaseId, from.agentSessionId, from.recap],
  })
}

/** Marks the sandbox as made: from here on the Session's workspace is attached. */
export async function markAttached(tx: Queryable, leaseId: string, now: Date): Promise<void> {
  await tx.query({
    text: "update leases set state = 'attached', attached_at = $2 where id = $1 and state = 'creating'",
    values: [leaseId, now],
  })
}

/**
 * Moves the idle deadline, never past the lease's bound and never back.
 * @param until a time until which the lease is needed at least
 */
export async function touchLease(tx: Queryable, key: SessionKey, now: Date, until = now): Promise<void> {
  await tx.query({
    name: 'touch-lease',
    text: `
      update leases set
        expires_at = least(bound_at, greatest(expires_at, $4, $3::timestamptz + idle_ms * interval '1 millisecond'))
      where organization_id = $1 and session_id = $2 and ended_at is null`,
    values: [key.organizationId, key.sessionId, now, until],
  })
}

/**
 * Ends the Session's lease, if it has one. A lease that was never attached ends as `abandoned`, whatever the reason.
 * @returns the lease and its state before
 */
export async function finishLease(
  tx: Queryable,
  key: SessionKey,
  reason: LeaseEnd,
  now: Date,
): Promise<(LeaseRow & { readonly was: LeaseRow['state'] }) | null> {
  return await queryRow<LeaseRow & { was: LeaseRow['state'] }>(tx, {
    text: `
      with live as (
        select id, state from leases where organization_id = $1 and session_id = $2 and ended_at is null for update
      )
      update leases l
      set state = 'ended', ended_at = $4, expires_at = least(l.expires_at, $4),
        end_reason = case when live.state in ('creating', 'applying') then 'abandoned' else $3 end,
        apply = l.apply - 'exports'
      from live where l.id = live.id
      returning l.*, live.state as was`,
    values: [key.organizationId, key.sessionId, reason, now],
  })
}

/** SQL that is true of a lease `l` whose Session has no active Run, and which no process works at. */
const atRest = `not exists (
  select 1 from runs r
  where r.organization_id = l.organization_id and r.session_id = l.session_id and r.ended_at is null)
  and not exists (
    select 1 from executions e
    where e.organization_id = l.organization_id and e.session_id = l.session_id and e.task is not null)`

/** Lists leases past their deadline whose Session has no active Run, on `leases_due`. */
export async function findDueLeases(db: Queryable, now: Date, limit: number): Promise<LeaseRow[]> {
  return await queryRows<LeaseRow>(db, {
    name: 'find-due-leases',
    text: `
      select l.* from leases l
      where l.ended_at is null and l.expires_at <= $1 and ${atRest}
      order by l.expires_at limit $2`,
    values: [now, limit],
  })
}

/** Lists leases that archived Sessions still hold, among those that have not ended (`leases_live`). */
export async function findLeasesOfArchived(db: Queryable, limit: number): Promise<LeaseRow[]> {
  return await queryRows<LeaseRow>(db, {
    name: 'find-leases-of-archived',
    text: `
      select l.* from leases l
      where l.ended_at is null and exists (
        select 1 from sessions s
        where s.organization_id = l.organization_id and s.id = l.session_id and s.archived_at is not null)
      limit $1`,
    values: [limit],
  })
}

/** Lists attached leases on hosts whose Session has no active Run. */
export async function findLiveLeasesOfHosts(db: Queryable, hosts: readonly string[]): Promise<LeaseRow[]> {
  return await queryRows<LeaseRow>(db, {
    text: `
      select l.* from leases l
      where l.ended_at is null and l.state = 'attached' and l.host = any ($1) and ${atRest}`,
    values: [hosts],
  })
}

/** SQL that is true of a host `h` and its lease `l` if the host gives it back as soon as it rests. */
const drained = `(h.drained_at is not null or not ${takes('h', 'l.organization_id')})`

/** Returns whether the host of a lease is drained, or does not take the organization any more. */
export async function isDrained(db: Queryable, leaseId: string): Promise<boolean> {
  return await queryAny(db, {
    name: 'is-drained',
    text: `select 1 from leases l join hosts h on h.id = l.host where l.id = $1 and ${drained}`,
    values: [leaseId],
  })
}

/** Lists attached leases at rest on hosts that are drained, or that do not take the organization any more. */
export async function findDrainedLeases(db: Queryable, hosts: readonly string[]): Promise<LeaseRow[]> {
  return await queryRows<LeaseRow>(db, {
    name: 'find-drained-leases',
    text: `
      select l.* from hosts h
      join leases l on l.host = h.id and l.ended_at is null and l.state = 'attached'
      where h.id = any ($1) and ${drained} and ${atRest}`,
    values: [hosts],
  })
}

/** Lists leases on hosts that are gone for good, as a process with these hosts can tell, whose Session has no active Run, on `leases_of_host`. */
export async function findLeasesOfLostHosts(
  db: Queryable,
  hosts: readonly string[],
  limit: number,
): Promise<LeaseRow[]> {
  return await queryRows<LeaseRow>(db, {
    name: 'find-leases-of-lost-hosts',
    text: `
      select l.* from hosts h
      join leases l on l.host = h.id and l.ended_at is null
      where h.id <> all ($1) and ${isLostHost('h', '$1')} and ${atRest}
      limit $2`,
    values: [hosts, limit],
  })
}

/** Returns which of these leases have not ended. */
export async function findLive(db: Queryable, leaseIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (leaseIds.length === 0) return new Set()
  const { rows } = await db.query<{ id: string }>({
    name: 'find-live',
    text: 'select id from leases where id = any ($1::uuid[]) and ended_at is null',
    values: [leaseIds],
  })
  return new Set(rows.map(({ id }) => id))
}

export async function leaseIsLive(db: Queryable, leaseId: string): Promise<boolean> {
  return await queryAny(db, {
    name: 'lease-is-live',
    text: 'select 1 from leases where id = $1 and ended_at is null',
    values: [leaseId],
  })
}
