import { hostLimits, isHostPool, parseHostLabels } from '@berth/contract'
import { appendAudit, operator } from '@berth/core/accounts/audit/append.ts'
import { type AdmittedHost, admitNewHost } from '@berth/core/hosts/admit-host.ts'
import { deleteHost, type HostFacts, type HostMark, listHosts, loseHost, markHost } from '@berth/core/hosts/host-sql.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { announce, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Variables, withDatabase } from './database.ts'
import { requireName } from './refused.ts'

/** A host as an operator writes it. */
export interface HostOrder {
  readonly name: string
  readonly organizationId?: string | undefined
  readonly pool?: string | undefined
  /** The most sandboxes that the host may offer. */
  readonly capacity?: string | undefined
  /** `name=value`, which stand before those that the host gives itself. */
  readonly labels?: readonly string[] | undefined
}

/**
 * Admits a host that dials in with a token, for an organization or for all.
 * @throws StartError in one line, for an operator to correct
 */
export async function admitHost(variables: Variables, order: HostOrder): Promise<AdmittedHost> {
  const name = requireName(order.name)
  const pool = order.pool ?? 'default'
  if (!isHostPool(pool)) throw new StartError('a pool is 1 to 63 of a to z, 0 to 9 and -')
  const capacity = order.capacity === undefined ? null : Number(order.capacity)
  if (capacity !== null && !(Number.isSafeInteger(capacity) && capacity >= 1 && capacity <= hostLimits.capacity)) {
    throw new StartError(`a capacity is a number from 1 to ${hostLimits.capacity}`)
  }
  const labels = parseHostLabels(order.labels ?? [])
  if (labels === undefined) throw new StartError('a label is name=value, of letters, digits and ._/-')
  const organizationId = order.organizationId ?? null
  return withDatabase(variables, (db, _, clock) =>
    db.transaction(async tx => {
      if (organizationId !== null) await requireOrganization(tx, organizationId)
      const host = await admitNewHost(tx, { name, organizationId, pool, capacity, labels })
      const details = { name, pool, ...(capacity !== null && { capacity }), ...(order.labels?.length && { labels }) }
      await audit(tx, { action: 'host.admitted', id: host.id, organizationId, details, now: clock.now() })
      return host
    }),
  )
}

/** Lists the hosts of the deployment. @throws StartError */
export function readHosts(variables: Variables): Promise<readonly HostFacts[]> {
  return withDatabase(variables, db => listHosts(db))
}

/**
 * Opens a host for sandboxes, closes it, or empties it.
 * @throws StartError in one line, for an operator to correct
 */
export function setHost(variables: Variables, id: string, mark: HostMark): Promise<void> {
  return withDatabase(variables, async (db, _, clock) => {
    await db.transaction(async tx => {
      const marked = await markHost(tx, id, mark)
      if (marked === undefined) throw unknown(id)
      await audit(tx, { action: `host.${mark}`, id, organizationId: marked.organization_id, now: clock.now() })
    })
    // Runs may have waited for its room, and its worker for the order to empty it.
    await announce(db, topics.queue, topics.leases)
  })
}

/**
 * Declares that a host is gone for good: its Sessions go on elsewhere at once, from their checkpoints.
 * @returns how many sandboxes are lost with it
 * @throws StartError in one line, for an operator to correct
 */
export function declareHostLost(variables: Variables, id: string): Promise<number> {
  return withDatabase(variables, async (db, _, clock) => {
    const leases = await db.transaction(async tx => {
      const lost = await loseHost(tx, id)
      if (lost === undefined) throw unknown(id)
      if (lost === 'heard') {
        throw new StartError(
          `host ${id} is connected, or was heard of within the last minute; stop it for good, and try again a minute later`,
        )
      }
      const details = { sandboxes: lost.leases }
      await audit(tx, { action: 'host.lost', id, organizationId: lost.organization_id, details, now: clock.now() })
      return lost.leases
    })
    await announce(db, topics.queue, topics.leases)
    return leases
  })
}

/**
 * Forgets a host without sandboxes, and its token.
 * @throws StartError in one line, for an operator to correct
 */
export function removeHost(variables: Variables, id: string): Promise<void> {
  return withDatabase(variables, (db, _, clock) =>
    db.transaction(async tx => {
      const deleted = await deleteHost(tx, id)
      if (deleted === undefined) throw unknown(id)
      if (deleted === 'held') throw new StartError(`host ${id} holds sandboxes; drain it first`)
      if (deleted === 'here') throw new StartError(`a worker runs on host ${id}; stop it first`)
      await audit(tx, { action: 'host.removed', id, organizationId: deleted.organization_id, now: clock.now() })
    }),
  )
}

const unknown = (id: string) => new StartError(`there is no host ${JSON.stringify(id)}`)

async function requireOrganization(tx: Queryable, id: string): Promise<void> {
  const { rows } = await tx.query<{ id: string }>({
    text: 'select id from organizations where id::text = $1',
    values: [id],
  })
  if (rows.length === 0) throw new StartError(`there is no organization ${JSON.stringify(id)}`)
}

interface Reported {
  readonly action: string
  readonly id: string
  readonly organizationId: string | null
  readonly details?: object
  readonly now: Date
}

const audit = (tx: Queryable, { action, id, organizationId, details, now }: Reported) =>
  appendAudit(
    tx,
    { organizationId, actor: operator, action, target: `host/${id}`, outcome: 'done', details: { ...details } },
    now,
  )
