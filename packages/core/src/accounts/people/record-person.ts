import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type AuditEntry, appendAudit } from '../audit/append.ts'
import { liveOrganizationsOf } from '../organizations/memberships.ts'

/**
 * Adds an entry about a person to the audit log of every organization that they are a member of; to the deployment's if
 * there is none.
 */
export async function recordPerson(
  tx: Queryable,
  personId: string,
  entry: Omit<AuditEntry, 'organizationId' | 'target'>,
  now: Date,
): Promise<void> {
  const organizations = await liveOrganizationsOf(tx, personId)
  for (const organizationId of organizations.length === 0 ? [null] : organizations) {
    await appendAudit(tx, { ...entry, organizationId, target: `person/${personId}` }, now)
  }
}
