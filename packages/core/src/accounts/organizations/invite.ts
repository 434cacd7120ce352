import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../audit/append.ts'
import { type Invited, type IssuedLink, issueInvitation } from '../links/one-time-link.ts'
import type { By } from './change-member.ts'

/**
 * Invites an email to an organization, and records it.
 *
 * @param createdBy membership of the administrator; null for an operator
 */
export function invite(db: Database, invited: Invited, createdBy: string | null, by: By): Promise<IssuedLink> {
  const { organizationId, role, permissions } = invited
  const { actor, address, now } = by
  return db.transaction(async tx => {
    const link = await issueInvitation(tx, invited, createdBy, now)
    const from = address === undefined ? {} : { address }
    const details = { role, permissions }
    await appendAudit(tx, { organizationId, actor, action: 'member.invited', ...from, outcome: 'done', details }, now)
    return link
  })
}
