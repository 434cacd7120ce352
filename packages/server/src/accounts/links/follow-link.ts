import { randomUUID } from 'node:crypto'
import type { Clock } from '../../kit/clock.ts'
import type { Database, Queryable } from '../../storage/postgres/database.ts'
import { appendAudit } from '../audit/append.ts'
import { insertMembership } from '../organizations/memberships.ts'
import { hashPassword, verifyPassword } from '../people/password.ts'
import { endEverySession, findPersonByEmail, insertPerson, type Person, setPassword } from '../people/person.ts'
import { recordPerson } from '../people/record-person.ts'
import { PasswordThrottle } from '../sign-in/throttle.ts'
import { consumeLink, type OneTimeLink } from './one-time-link.ts'

/** What became of a form that followed a link. */
export type Followed =
  | { readonly kind: 'done' }
  /** The link no longer works. */
  | { readonly kind: 'dead' }
  /** The account exists already, and this is not its password. */
  | { readonly kind: 'wrong_password' }
  /** Somebody has made an account of this email meanwhile, by another invitation; this one still works. */
  | { readonly kind: 'account_made' }
  /** Too many passwords were tried for this account, or from this address. */
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number }

interface Sent {
  readonly secret: string
  readonly name: string
  readonly password: string
  readonly address: string
}

class DeadLink extends Error {}
class AccountMade extends Error {}

/**
 * Accepts an invitation: makes the person with this name and password, or lets a person who exists prove the password
 * of their account, and makes them a member.
 *
 * An invitation never sets the password of an account that exists. Otherwise any administrator could take over an
 * account of another organization by inviting its email and following the link. For the same reason guesses at that
 * password are bounded as those of a sign-in are, by the same buckets.
 *
 * @throws ApiError 503 if too many passwords are being hashed
 */
export async function acceptInvitation(
  db: Database,
  clock: Clock,
  link: Extract<OneTimeLink, { kind: 'invitation' }>,
  sent: Sent,
): Promise<Followed> {
  const known = await findPersonByEmail(db, link.email)
  if (known !== null) {
    const retryAfterSeconds = await new PasswordThrottle(db, clock).take(sent.address, link.email)
    if (retryAfterSeconds !== null) return { kind: 'limited', retryAfterSeconds }
    const { holds } = await verifyPassword(known.passwordHash, sent.password)
    if (!holds || known.disabled) return { kind: 'wrong_password' }
  }
  const passwordHash = known === null ? await hashPassword(sent.password) : null
  return whileAlive(db, sent.secret, clock, async (tx, now) => {
    const person: Pick<Person, 'id' | 'name'> = known ?? { id: randomUUID(), name: sent.name }
    if (known === null && !(await insertPerson(tx, { ...person, email: link.email, passwordHash }, now))) {
      throw new AccountMade()
    }
    const { organizationId, role, permissions } = link
    const membershipId = await insertMembership(tx, { organizationId, personId: person.id, role, permissions }, now)
    if (membershipId === null) return
    await appendAudit(
      tx,
      {
        organizationId,
        actor: { kind: 'person', id: person.id, name: person.name },
        action: 'member.joined',
        target: `membership/${membershipId}`,
        address: sent.address,
        outcome: 'done',
        details: { role, permissions },
      },
      now,
    )
  })
}

/**
 * Sets a person's password by a link, and ends their sign-ins and the sessions of their browsers.
 *
 * @throws ApiError 503 if too many passwords are being hashed
 */
export async function resetPassword(
  db: Database,
  clock: Clock,
  link: Extract<OneTimeLink, { kind: 'reset' }>,
  sent: Omit<Sent, 'name'>,
): Promise<Followed> {
  const passwordHash = await hashPassword(sent.password)
  return whileAlive(db, sent.secret, clock, async (tx, now) => {
    const name = await setPassword(tx, link.personId, passwordHash)
    await endEverySession(tx, link.personId, now)
    const actor = { kind: 'person', id: link.personId, name } as const
    const entry = { actor, action: 'person.password_set', address: sent.address, outcome: 'done' } as const
    await recordPerson(tx, link.personId, entry, now)
  })
}

/** Uses the link up and does `work` in one transaction; neither happens without the other. */
async function whileAlive(
  db: Database,
  secret: string,
  clock: Clock,
  work: (tx: Queryable, now: Date) => Promise<void>,
): Promise<Followed> {
  try {
    await db.transaction(async tx => {
      const now = clock.now()
      if (!(await consumeLink(tx, secret, now))) throw new DeadLink()
      await work(tx, now)
    })
    return { kind: 'done' }
  } catch (error) {
    if (error instanceof DeadLink) return { kind: 'dead' }
    if (error instanceof AccountMade) return { kind: 'account_made' }
    throw error
  }
}
