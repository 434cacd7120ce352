import { refusal } from '../../kit/refusal.ts'
import type { Database } from '../../storage/postgres/database.ts'
import type { IssuedLink } from '../links/one-time-link.ts'
import { issueResetTo } from '../people/change-person.ts'
import { type By, lockedMember, type MemberKey } from './change-member.ts'
import { liveOrganizationsOf } from './memberships.ts'

/**
 * Issues a link by which a member chooses a new password. An account that also belongs to another organization is not
 * this administrator's to take over; their own is for the account page, which asks for the password.
 *
 * @param forgetSecondFactor also removes the second factor, for a person who has lost it; their sign-ins end with it
 * @throws ApiError 404 `membership_not_found`, 409 `member_reset_refused`
 */
export function resetMember(db: Database, key: MemberKey, forgetSecondFactor: boolean, by: By): Promise<IssuedLink> {
  return db.transaction(async tx => {
    const { personId, disabled } = await lockedMember(tx, key)
    if (by.actor.id === personId) throw refused('change your own password and second factor on the account page')
    if (disabled) throw refused('the person is disabled; ask an operator to enable them first')
    // Whoever makes a membership of the person waits for this lock, and then ends the link.
    await tx.query('select 1 from people where id = $1 for update', [personId])
    const organizations = await liveOrganizationsOf(tx, personId)
    if (organizations.length > 1) {
      throw refused('the person belongs to another organization as well; ask an operator to reset them')
    }
    return issueResetTo(tx, personId, forgetSecondFactor, by)
  })
}

const refused = (message: string) => refusal('member_reset_refused', { message })
