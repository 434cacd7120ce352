import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { operator } from '../audit/append.ts'
import { endResets, type IssuedLink, issueReset } from '../links/one-time-link.ts'
import type { By } from '../organizations/change-member.ts'
import { requireAnotherAdministrator } from '../organizations/memberships.ts'
import { removeSecondFactor } from '../second-factor/second-factor.ts'
import { endEverySession, findPersonByEmail, type Person } from './person.ts'
import { recordPerson } from './record-person.ts'

/**
 * Disables a person everywhere, and ends their sign-ins.
 *
 * @throws StartError if nobody has the email; ApiError 409 `last_administrator`
 */
export function disablePerson(db: Database, email: string, now: Date): Promise<void> {
  return db.transaction(async tx => {
    const person = await requirePerson(tx, email)
    if (person.disabled) return
    for (const organizationId of await administeredBy(tx, person.id)) {
      await requireAnotherAdministrator(tx, organizationId, person.id)
    }
    await tx.query('update people set disabled_at = $2 where id = $1', [person.id, now])
    await endEverySession(tx, person.id, now)
    // Otherwise a link that was issued before would work again once the person is enabled.
    await endResets(tx, person.id, now)
    await record(tx, person, 'person.disabled', now)
  })
}

/** Enables a person again; sign-ins that ended stay so. @throws StartError if nobody has the email */
export function enablePerson(db: Database, email: string, now: Date): Promise<void> {
  return db.transaction(async tx => {
    const person = await requirePerson(tx, email)
    if (!person.disabled) return
    await tx.query('update people set disabled_at = null where id = $1', [person.id])
    await record(tx, person, 'person.enabled', now)
  })
}

/**
 * Issues a link by which a person chooses a new password.
 *
 * @param forgetSecondFactor also removes the second factor, for a person who has lost it; their sign-ins end with it
 * @throws StartError if nobody has the email, or if the person is disabled
 */
export function resetPerson(db: Database, email: string, forgetSecondFactor: boolean, now: Date): Promise<IssuedLink> {
  return db.transaction(async tx => {
    const person = await requirePerson(tx, email)
    if (person.disabled) throw new StartError(`${email} is disabled; berth admin person enable ${email} comes first`)
    return issueResetTo(tx, person.id, forgetSecondFactor, null, { actor: operator, now })
  })
}

/**
 * Issues a link by which a person chooses a new password, and records who did.
 *
 * @param forgetSecondFactor as above
 * @param createdBy membership of the administrator; null for an operator
 */
export async function issueResetTo(
  tx: Queryable,
  personId: string,
  forgetSecondFactor: boolean,
  createdBy: string | null,
  { actor, address, now }: By,
): Promise<IssuedLink> {
  const entry = { actor, ...(address !== undefined && { address }), outcome: 'done' } as const
  if (forgetSecondFactor) {
    await removeSecondFactor(tx, personId)
    await endEverySession(tx, personId, now)
    await recordPerson(tx, personId, { ...entry, action: 'person.second_factor_removed' }, now)
  }
  await recordPerson(tx, personId, { ...entry, action: 'person.reset_issued' }, now)
  return issueReset(tx, personId, createdBy, now)
}

async function requirePerson(tx: Queryable, email: string): Promise<Person> {
  const person = await findPersonByEmail(tx, email)
  if (person === null) throw new StartError(`nobody has the email ${email}`)
  return person
}

async function administeredBy(tx: Queryable, personId: string): Promise<readonly string[]> {
  const { rows } = await tx.query<{ organization_id: string }>(
    `select organization_id from memberships
     where person_id = $1 and role = 'admin' and revoked_at is null order by organization_id`,
    [personId],
  )
  return rows.map(row => row.organization_id)
}

function record(tx: Queryable, { id }: Person, action: string, now: Date): Promise<void> {
  return recordPerson(tx, id, { actor: operator, action, outcome: 'done' }, now)
}
