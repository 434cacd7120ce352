import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type { IssuedLink } from '../links/one-time-link.ts'
import { issueResetTo } from '../people/change-person.ts'
import { findPersonById } from '../people/person.ts'
import { type By, lockedMember, type MemberKey } from './change-member.ts'
import { liveOrganizationsOf } from './memberships.ts'

/**
 * Issues a link by which a member chooses a new password. An account whose email is proven belongs to its person, and is
 * not an administrator's to take over; their own is for the account page, which asks for the password. Only such an
 * account can belong to several organizations, so the refusal does not tell whether it does.
 *
 * @param forgetSecondFactor also removes the second factor, for a person who has lost it; their sign-ins end with it
 * @param createdBy membership of the administrator
 * @throws ApiError 404 `membership_not_found`, 409 `member_reset_refused`
 */
export function resetMember(
  db: Database,
  key: MemberKey,
  forgetSecondFactor: boolean,
  createdBy: string,
  by: By,
): Promise<IssuedLink> {
  return db.transaction(async tx => {
    const { personId, disabled } = await lockedMember(tx, key)
    if (by.actor.id === personId) throw refused('change your own password and second factor on the account page')
    if (disabled) throw refused('the person is disabled; ask an operator to enable them first')
    // Whoever proves the email or makes a membership waits for this lock, and then ends the link.
    await tx.query('select 1 from people where id = $1 for update', [personId])
    const person = await findPersonById(tx, personId)
    const organizations = await liveOrganizationsOf(tx, personId)
    if (person === null || person.emailProven || organizations.length > 1) {
      throw refused("the email is proven, so the account is the person's own; ask an operator to reset them")
    }
    return issueResetTo(tx, personId, forgetSecondFactor, createdBy, by)
  })
}

const refused = (message: string) => refusal('member_reset_refused', { message })
