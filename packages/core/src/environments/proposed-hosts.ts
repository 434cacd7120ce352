import type { ProposedHost } from '@berth/contract'
import { fitsHost } from '@berth/platform/network/host-pattern.ts'
import { type Queryable, queryChanged } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../accounts/audit/append.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { conflict } from './environment-conflict.ts'
import type { EnvironmentKey } from './environment-sql.ts'

/** Hosts that may wait for whoever writes the document, and that it has taken. */
const MOST_HOSTS = 200

/** Somebody who allows a host, and the Session in which they do. */
export interface HostProposal {
  readonly host: string
  readonly sessionId: string
  readonly by: Pick<Principal, 'kind' | 'id'>
}

/**
 * Allows a host for an environment: it holds at once for those of its Sessions that ask, and is proposed as a change of the
 * document. A repeat changes nothing.
 * @throws ApiError 409 `environment_conflict` if too many wait already
 */
export async function proposeHost(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  { host, sessionId, by }: HostProposal,
  now: Date,
): Promise<void> {
  const { rowCount } = await tx.query({
    name: 'propose-host',
    text: `
      insert into environment_hosts
        (organization_id, environment_id, host, allowed_in, decided_by_kind, decided_by_id, decided_at)
      select $1, $2, $3, $4, $5, $6, $7
      where (select count(*) from environment_hosts where organization_id = $1 and environment_id = $2) < ${MOST_HOSTS}
      on conflict do nothing`,
    values: [organizationId, environmentId, host, sessionId, by.kind, by.id, now],
  })
  if (rowCount === 0) {
    if (await isProposed(tx, { organizationId, environmentId }, host)) return
    throw conflict(`${MOST_HOSTS} hosts were allowed for the environment already; write some into its document`)
  }
  const about = {
    action: 'environment.host_allowed',
    target: `environment/${environmentId}`,
    details: { host, sessionId },
  }
  const actor = { kind: by.kind, id: by.id, name: null }
  await appendAudit(tx, { organizationId, actor, outcome: 'done', ...about }, now)
}

async function isProposed(
  db: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  host: string,
): Promise<boolean> {
  return await queryChanged(db, {
    text: 'select 1 from environment_hosts where organization_id = $1 and environment_id = $2 and host = $3',
    values: [organizationId, environmentId, host],
  })
}

/** Lists the hosts that wait to be written into documents, by environment, in the order in which they were allowed. */
export async function listProposedHosts(
  db: Queryable,
  organizationId: string,
  environmentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly ProposedHost[]>> {
  const { rows } = await db.query<{
    environment_id: string
    host: string
    allowed_in: string
    decided_by_kind: string
    decided_by_id: string
    decided_at: Date
  }>({
    name: 'list-proposed-hosts',
    text: `
      select environment_id, host, allowed_in, decided_by_kind, decided_by_id, decided_at from environment_hosts
      where organization_id = $1 and environment_id = any ($2::uuid[]) and not accepted
      order by decided_at, host`,
    values: [organizationId, environmentIds],
  })
  const found = new Map<string, ProposedHost[]>()
  for (const row of rows) {
    const proposed = found.get(row.environment_id) ?? []
    found.set(row.environment_id, proposed)
    proposed.push({
      host: row.host,
      sessionId: row.allowed_in,
      decidedBy: { kind: row.decided_by_kind, id: row.decided_by_id },
      decidedAt: row.decided_at.toISOString(),
    })
  }
  return found
}

/**
 * Takes the hosts that a new document names as accepted. They still hold for sandboxes of earlier revisions, until a later
 * document names them no more. The caller holds the environment's lock.
 */
export async function settleProposedHosts(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  patterns: readonly string[],
): Promise<void> {
  const { rows } = await tx.query<{ host: string; accepted: boolean }>({
    text: 'select host, accepted from environment_hosts where organization_id = $1 and environment_id = $2',
    values: [organizationId, environmentId],
  })
  const isNamed = (host: string) => patterns.some(pattern => fitsHost(host, pattern))
  const taken = rows.filter(({ host, accepted }) => !accepted && isNamed(host)).map(({ host }) => host)
  const dropped = rows.filter(({ host, accepted }) => accepted && !isNamed(host)).map(({ host }) => host)
  if (taken.length === 0 && dropped.length === 0) return
  await tx.query({
    text: `
      with dropped as (
        delete from environment_hosts where organization_id = $1 and environment_id = $2 and host = any ($4::text[])
      )
      update environment_hosts set accepted = true
      where organization_id = $1 and environment_id = $2 and host = any ($3::text[])`,
    values: [organizationId, environmentId, taken, dropped],
  })
}

/** Takes one host as accepted, since the document names it already. Others stay as they are. */
export async function acceptProposedHost(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  host: string,
): Promise<void> {
  await tx.query({
    text: 'update environment_hosts set accepted = true where organization_id = $1 and environment_id = $2 and host = $3',
    values: [organizationId, environmentId, host],
  })
}

/** Removes a host that waits for the document, so that it holds no more. A repeat changes nothing. */
export async function removeProposedHost(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  host: string,
  by: Pick<Principal, 'kind' | 'id'>,
  now: Date,
): Promise<void> {
  const { rowCount } = await tx.query({
    text: 'delete from environment_hosts where organization_id = $1 and environment_id = $2 and host = $3 and not accepted',
    values: [organizationId, environmentId, host],
  })
  if (rowCount === 0) return
  const about = { action: 'environment.host_removed', target: `environment/${environmentId}`, details: { host } }
  const actor = { kind: by.kind, id: by.id, name: null }
  await appendAudit(tx, { organizationId, actor, outcome: 'done', ...about }, now)
}
