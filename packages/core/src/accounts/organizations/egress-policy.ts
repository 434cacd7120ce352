import type { EgressPolicy } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Returns what an organization lets its environments reach and use. */
export async function readEgressPolicy(db: Queryable, organizationId: string): Promise<EgressPolicy> {
  const { rows } = await db.query<{ policy: Partial<EgressPolicy> }>({
    name: 'read-egress-policy',
    text: 'select egress_policy as policy from organizations where id = $1',
    values: [organizationId],
  })
  return { neverHosts: [], secretEnvironments: {}, ...rows[0]?.policy }
}

/** Sets it, for writes from now on and for sandboxes that are made from now on. */
export async function setEgressPolicy(tx: Queryable, organizationId: string, policy: EgressPolicy): Promise<void> {
  await tx.query({
    name: 'set-egress-policy',
    text: 'update organizations set egress_policy = $2 where id = $1',
    values: [organizationId, JSON.stringify(policy)],
  })
}
