import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { dropLinked, type Ended, endedDetails } from '../people/linked-access.ts'
import { hashPassword } from '../people/password.ts'
import { endEverySession, findPersonById, proveEmail, setPassword } from '../people/person.ts'
import { recordPerson } from '../people/record-person.ts'
import { removeSecondFactor } from '../second-factor/second-factor.ts'
import type { ResetLink } from './one-time-link.ts'
import { whileAlive } from './while-alive.ts'

/**
 * Sets a person's password by a link, and ends whatever else may let somebody into the account: sign-ins, sessions of
 * browsers, linked identities and accounts at Git hosts. The second factor stays, so that a stolen link is not enough.
 * It goes if an operator's link makes the account its person's that only an invitation vouched for until now: whoever
 * invited them may have set it up.
 *
 * @returns what has ended, and from when sessions of the person count; null if the link no longer works
 * @throws ApiError 503 if too many passwords are being hashed
 */
export async function resetPassword(
  db: Database,
  clock: Clock,
  { personId, byOperator }: ResetLink,
  sent: { readonly secret: string; readonly password: string; readonly address: string },
): Promise<{ readonly ended: Ended; readonly began: number } | null> {
  const passwordHash = await hashPassword(sent.password)
  return whileAlive(db, sent.secret, clock, async (tx, now) => {
    const name = await setPassword(tx, personId, passwordHash)
    const began = await endEverySession(tx, personId, now)
    const linked = await dropLinked(tx, personId, now)
    const person = await findPersonById(tx, personId)
    const isClaimed = byOperator && person?.emailProven === false
    const secondFactor = isClaimed && person.totpSecret !== null
    if (secondFactor) await removeSecondFactor(tx, personId)
    if (isClaimed) await proveEmail(tx, personId, now)
    const ended = { linked, secondFactor }
    const actor = { kind: 'person', id: personId, name } as const
    const entry = { actor, action: 'person.password_set', address: sent.address, outcome: 'done' } as const
    await recordPerson(tx, personId, { ...entry, details: endedDetails(ended) }, now)
    return { ended, began }
  })
}
