import type { AdmittedHost, Compute, OwnHost, RequestBody } from '@berth/contract'
import { parseHostLabels } from '@berth/contract'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import type { Context } from '@berth/core/context.ts'
import { admitNewHost } from '@berth/core/hosts/admit-host.ts'
import { deleteHost, type HostFacts, listHosts, loseHost, markHost } from '@berth/core/hosts/host-sql.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { bindToOwnHosts, readComputeStatus } from '@berth/core/runtimes/own-hosts.ts'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'

type Parts = Pick<Context, 'db' | 'clock' | 'wakeups'>

/** Who acts for an organization, and from where. */
export interface Administrator {
  readonly principal: PersonPrincipal
  readonly clientAddress: string
}

/** Returns the choice of hosts that an organization may run on, with its own hosts. */
export async function readCompute(db: Queryable, organizationId: string): Promise<Compute> {
  const [status, hosts] = await Promise.all([readComputeStatus(db, organizationId), listHosts(db, organizationId)])
  return { runsOn: status === 'shared' ? 'any_host' : 'own_hosts', standing: status, hosts: hosts.map(toOwnHost) }
}

/** Binds an organization to its own hosts, or lets it run on those of everybody. */
export async function updateCompute(
  { db, clock, wakeups }: Parts,
  { principal, clientAddress }: Administrator,
  { runsOn }: RequestBody<'updateCompute'>,
): Promise<Compute> {
  const { organizationId } = principal
  await db.transaction(async tx => {
    const now = clock.now()
    if (!(await bindToOwnHosts(tx, organizationId, runsOn === 'own_hosts', now))) return
    await appendAudit(
      tx,
      personEntry(principal, clientAddress, 'organization.compute_changed', { details: { runsOn } }),
      now,
    )
  })
  // Sandboxes on other hosts may rest, and Runs may have waited for those.
  wakeups.publish(topics.queue, topics.leases)
  return await readCompute(db, organizationId)
}

/**
 * Admits a host that works for the organization alone.
 * @throws ApiError 400 `invalid_request` if two labels have one name
 */
export async function admitOwnHost(
  { db, clock }: Parts,
  { principal, clientAddress }: Administrator,
  { name, pool = 'default', capacity, labels: texts = [] }: RequestBody<'admitHost'>,
): Promise<AdmittedHost> {
  const labels = parseHostLabels(texts)
  if (labels === undefined || Object.keys(labels).length < texts.length) {
    throw invalidField(['labels'], 'have one name twice')
  }
  const { organizationId } = principal
  return await db.transaction(async tx => {
    const { id, token } = await admitNewHost(tx, { name, organizationId, pool, capacity: capacity ?? null, labels })
    const details = { name, pool, ...(capacity !== undefined && { capacity }), ...(texts.length > 0 && { labels }) }
    const entry = personEntry(principal, clientAddress, 'host.admitted', { target: `host/${id}`, details })
    await appendAudit(tx, entry, clock.now())
    return { host: await readOwnHost(tx, organizationId, id), token }
  })
}

/**
 * Cordons, drains or opens a host of the organization.
 * @throws ApiError 404 `host_not_found`, also for a host of others
 */
export async function markOwnHost(
  { db, clock, wakeups }: Parts,
  { principal, clientAddress }: Administrator,
  id: string,
  { mark }: RequestBody<'markHost'>,
): Promise<OwnHost> {
  const { organizationId } = principal
  const host = await db.transaction(async tx => {
    if ((await markHost(tx, id, mark, organizationId)) === undefined) throw refusal('host_not_found')
    const entry = personEntry(principal, clientAddress, `host.${mark}`, { target: `host/${id}` })
    await appendAudit(tx, entry, clock.now())
    return await readOwnHost(tx, organizationId, id)
  })
  wakeups.publish(topics.queue, topics.leases)
  return host
}

/**
 * Declares that a host of the organization is gone for good: its Sessions go on elsewhere at once, from their checkpoints.
 * @throws ApiError 404 `host_not_found`, also for a host of others
 * @throws ApiError 409 `host_not_away` if it may still be there
 */
export async function loseOwnHost(
  { db, clock, wakeups }: Parts,
  { principal, clientAddress }: Administrator,
  id: string,
): Promise<OwnHost> {
  const { organizationId } = principal
  const host = await db.transaction(async tx => {
    const lost = await loseHost(tx, id, organizationId)
    if (lost === undefined) throw refusal('host_not_found')
    if (lost === 'heard') throw refusal('host_not_away')
    const details = { sandboxes: lost.leases }
    const entry = personEntry(principal, clientAddress, 'host.lost', { target: `host/${id}`, details })
    await appendAudit(tx, entry, clock.now())
    return await readOwnHost(tx, organizationId, id)
  })
  wakeups.publish(topics.queue, topics.leases)
  return host
}

/**
 * Forgets a host of the organization, and its token.
 * @throws ApiError 404 `host_not_found`, also for a host of others
 * @throws ApiError 409 `host_in_use` if it holds sandboxes
 */
export async function removeOwnHost(
  { db, clock }: Parts,
  { principal, clientAddress }: Administrator,
  id: string,
): Promise<void> {
  await db.transaction(async tx => {
    const details = { name: (await readOwnHost(tx, principal.organizationId, id)).name }
    const deleted = await deleteHost(tx, id, principal.organizationId)
    if (deleted === undefined) throw refusal('host_not_found')
    if (deleted === 'held' || deleted === 'here') throw refusal('host_in_use')
    const entry = personEntry(principal, clientAddress, 'host.removed', { target: `host/${id}`, details })
    await appendAudit(tx, entry, clock.now())
  })
}

async function readOwnHost(tx: Queryable, organizationId: string, id: string): Promise<OwnHost> {
  const host = (await listHosts(tx, organizationId)).find(one => one.id === id)
  if (host === undefined) throw refusal('host_not_found')
  return toOwnHost(host)
}

const toOwnHost = ({
  id,
  name,
  pool,
  labels,
  driver,
  capacity,
  leases,
  state,
  heardAt,
  restsUntil,
  restsBecause,
}: HostFacts): OwnHost => ({
  id,
  name: name ?? id,
  pool,
  labels: Object.entries(labels).map(([label, value]) => `${label}=${value}`),
  driver,
  capacity,
  sandboxes: leases,
  state,
  heardAt: heardAt?.toISOString() ?? null,
  restsUntil: restsUntil?.toISOString() ?? null,
  restsBecause,
})
