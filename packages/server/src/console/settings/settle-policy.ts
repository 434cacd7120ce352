import type { EgressPolicy, UpdateOrganizationSettings } from '@berth/contract'
import { hostFault } from '@berth/core/environments/egress-rule.ts'
import { listKnownEnvironments } from '@berth/core/environments/environment-sql.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Returns the policy that a change makes of the present one.
 * @throws ApiError 400 if a host is not public by its name, or an environment is none of the organization
 */
export async function settlePolicy(
  tx: Queryable,
  organizationId: string,
  before: EgressPolicy,
  { neverHosts = before.neverHosts, secretEnvironments }: NonNullable<UpdateOrganizationSettings['egress']>,
): Promise<EgressPolicy> {
  const kept = Object.entries(secretEnvironments ?? before.secretEnvironments).map(
    ([name, ids]) => [name, ids.map(id => id.toLowerCase())] as const,
  )
  const known = await listKnownEnvironments(
    tx,
    organizationId,
    kept.flatMap(([, ids]) => ids),
  )
  const issues = [
    ...neverHosts.flatMap((host, index) => hostFault(host, ['egress', 'neverHosts', index])),
    ...kept.flatMap(([name, ids]) =>
      ids.flatMap((id, index) =>
        known.has(id)
          ? []
          : [
              {
                path: ['egress', 'secretEnvironments', name, index],
                message: 'is the id of no environment of the organization',
              },
            ],
      ),
    ),
  ]
  if (issues.length > 0) throw refusal('invalid_request', { issues })
  return { neverHosts, secretEnvironments: Object.fromEntries(kept.map(([name, ids]) => [name, [...ids]])) }
}
