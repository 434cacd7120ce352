import { isHeard } from '@berth/platform/processes/process-sql.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { HOST_AWAY_MS, NEVER_HEARD } from '../runtimes/runtime-hosts.ts'
import type { RestCause } from './host-rest-sql.ts'

/**
 * `waiting`: its token was never used. `away`: nobody has heard of it for a minute. `cordoned`: it gets no more sandboxes.
 * `resting`: it gets none for a while, since it has failed.
 * `draining`: it also gives back those that rest, and `drained`: it has none any more. `outdated`: it speaks another version
 * of the protocol, and was refused.
 */
export type HostState = 'waiting' | 'outdated' | 'away' | 'ready' | 'resting' | 'cordoned' | 'draining' | 'drained'

/** A host as an operator sees it. */
export interface HostFacts {
  readonly id: string
  readonly name: string | null
  /** Null: it works for every organization. */
  readonly organizationId: string | null
  readonly pool: string
  readonly labels: Readonly<Record<string, string>>
  readonly driver: string | null
  /** The most sandboxes that it holds; null: no bound. */
  readonly capacity: number | null
  readonly leases: number
  readonly state: HostState
  /** Whether it dials in with a token. */
  readonly dials: boolean
  /** Null: never. */
  readonly heardAt: Date | null
  /** Until when it gets no further sandboxes, after failures; null: it does not rest. */
  readonly restsUntil: Date | null
  readonly restsBecause: RestCause | null
}

/** SQL condition: a host rests after failures. */
const rests = 'rests_until > statement_timestamp()'

/** Lists the hosts of the deployment, or of one organization, with their live sandboxes. */
export async function listHosts(db: Queryable, organizationId: string | null = null): Promise<readonly HostFacts[]> {
  return await queryRows<HostFacts>(db, {
    text: `
      select id, name, organization_id as "organizationId", pool, labels, driver, capacity, leases,
        token_sha256 is not null or provisioner is not null as dials, nullif(heard_at, ${NEVER_HEARD}) as "heardAt",
        case when ${rests} then rests_until end as "restsUntil",
        case when ${rests} then rests_because end as "restsBecause",
        case
          when refused_protocol is not null then 'outdated'
          when heard_at = ${NEVER_HEARD} and seen_at = ${NEVER_HEARD} then 'waiting'
          when drained_at is not null and leases = 0 then 'drained'
          when heard_at <= now() - interval '${HOST_AWAY_MS} milliseconds' then 'away'
          when drained_at is not null then 'draining'
          when cordoned_at is not null then 'cordoned'
          when ${rests} then 'resting'
          else 'ready'
        end as state
      from (
        select h.*, (select count(*)::integer from leases l where l.host = h.id and l.ended_at is null) as leases
        from hosts h where h.removed_at is null and ($1::uuid is null or h.organization_id = $1)) as host
      order by coalesce(name, id), id`,
    values: [organizationId],
  })
}

/** Admits a host that dials in with a token, before it comes. */
export async function insertHost(
  tx: Queryable,
  host: {
    readonly id: string
    readonly name: string
    readonly organizationId: string | null
    readonly pool: string
    /** Null: as many sandboxes as the host says. */
    readonly capacity: number | null
    readonly labels: Readonly<Record<string, string>>
    readonly tokenSha256: Buffer
  },
): Promise<void> {
  await tx.query({
    text: `
      insert into hosts (id, name, organization_id, pool, token_sha256, admitted_capacity, capacity, admitted_labels, labels,
        runtimes, created_at, seen_at, heard_at, heard_since)
      values ($1, $2, $3, $4, $5, $6, $6, $7, $7, '{}', now(), ${NEVER_HEARD}, ${NEVER_HEARD}, ${NEVER_HEARD})`,
    values: [
      host.id,
      host.name,
      host.organizationId,
      host.pool,
      host.tokenSha256,
      host.capacity,
      JSON.stringify(host.labels),
    ],
  })
}

/** What an operator wants of a host. */
export type HostMark = 'open' | 'cordoned' | 'drained'

/**
 * Opens a host for sandboxes, which also ends its rest after failures, closes it, or empties it.
 * @param organizationId only a host of this organization; null: any
 * @returns its organization; undefined if there is no such host
 */
export async function markHost(
  tx: Queryable,
  id: string,
  mark: HostMark,
  organizationId: string | null = null,
): Promise<{ readonly organization_id: string | null } | undefined> {
  const { rows } = await tx.query<{ organization_id: string | null }>({
    text: `
      update hosts
      set cordoned_at = case when $2 then coalesce(cordoned_at, now()) end,
        drained_at = case when $3 then coalesce(drained_at, now()) end,
        failures = case when $2 then failures else 0 end,
        rests_until = case when $2 then rests_until end, rests_because = case when $2 then rests_because end
      where id = $1 and removed_at is null and ($4::uuid is null or organization_id = $4) returning organization_id`,
    values: [id, mark !== 'open', mark === 'drained', organizationId],
  })
  return rows[0]
}

/**
 * Takes an operator's word that a host is gone for good, and its sandboxes with it: no Run waits for it any more, and the
 * sweepers end its leases as lost. A host that speaks after all is there again, and its sandboxes are cleared.
 *
 * @param organizationId only a host of this organization; null: any
 * @returns its organization and how many leases it had; `heard` if it was heard of within the last minute, or a living
 *   process has its connection; undefined if there is no such host
 */
export async function loseHost(
  tx: Queryable,
  id: string,
  organizationId: string | null = null,
): Promise<{ readonly organization_id: string | null; readonly leases: number } | 'heard' | undefined> {
  const { rows } = await tx.query<{ organization_id: string | null; leases: number; heard: boolean }>({
    text: `
      select organization_id, (select count(*)::integer from leases l where l.host = h.id and l.ended_at is null) as leases,
        heard_at > now() - interval '${HOST_AWAY_MS} milliseconds'
          or exists (select 1 from processes p where p.id = h.connected_to and ${isHeard('p')}) as heard
      from hosts h
      where id = $1 and removed_at is null and ($2::uuid is null or organization_id = $2) for update`,
    values: [id, organizationId],
  })
  const [row] = rows
  if (row === undefined) return undefined
  if (row.heard) return 'heard'
  await tx.query({
    text: `update hosts set heard_at = ${NEVER_HEARD}, connected_to = null where id = $1`,
    values: [id],
  })
  return row
}

/** How long the row of a removed host stays, for processes that still have its connection. */
const REMOVED_HOURS = 24

/**
 * Forgets a host. Its token admits nobody any more. The row of one that dialled stays for a day, cordoned and still its
 * organization's: the process that has its connection hears of the end only with its next look.
 *
 * @param organizationId only a host of this organization; null: any
 * @returns `held` if it has sandboxes, `alive` if a process works on its machine and would bring it back
 */
export async function deleteHost(
  tx: Queryable,
  id: string,
  organizationId: string | null = null,
): Promise<{ readonly organization_id: string | null } | 'held' | 'here' | undefined> {
  const { rows } = await tx.query<{ organization_id: string | null; dials: boolean; held: boolean; alive: boolean }>({
    text: `
      select organization_id, token_sha256 is not null or provisioner is not null as dials,
        exists (select 1 from leases l where l.host = h.id and l.ended_at is null) as held,
        token_sha256 is null and provisioner is null and heard_at > now() - interval '${HOST_AWAY_MS} milliseconds' as alive
      from hosts h
      where id = $1 and removed_at is null and ($2::uuid is null or organization_id = $2) for update`,
    values: [id, organizationId],
  })
  const [row] = rows
  if (row === undefined) return undefined
  if (row.held) return 'held'
  if (row.alive) return 'here'
  await tx.query({
    text: `
      delete from hosts h where id = $1 and $2 or removed_at < now() - interval '${REMOVED_HOURS} hours' and not exists (
        select 1 from leases l where l.host = h.id and l.ended_at is null)`,
    values: [id, !row.dials],
  })
  await tx.query({
    text: `
      update hosts set removed_at = now(), cordoned_at = coalesce(cordoned_at, now()), token_sha256 = null where id = $1`,
    values: [id],
  })
  return row
}
