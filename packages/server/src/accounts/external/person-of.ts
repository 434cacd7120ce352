import { randomUUID } from 'node:crypto'
import type { Clock } from '../../kit/clock.ts'
import type { IdentityProviderConfig } from '../../settings/identity-providers.ts'
import type { Database, Queryable } from '../../storage/postgres/database.ts'
import { appendAudit } from '../audit/append.ts'
import { nameFault } from '../links/sent-fields.ts'
import { insertMembership } from '../organizations/memberships.ts'
import { isLiveOrganization } from '../organizations/organization.ts'
import { findPersonByEmail, findPersonById, insertPerson, type Person } from '../people/person.ts'
import type { ExternalIdentity } from './external-provider.ts'
import { findLinkedPerson, insertIdentity, listIdentities } from './identity-sql.ts'

/** The person of an identity, or why nobody is let in. `personId` is the person who is refused, if one is known. */
export type PersonOfIdentity =
  | { readonly kind: 'person'; readonly person: Person }
  | { readonly kind: 'refused'; readonly reason: Refusal; readonly personId: string | null }

export type Refusal = 'disabled' | 'email_not_verified' | 'domain_not_listed' | 'account_exists'

/** Two browsers of one person came back at the same moment. */
class Overtaken extends Error {}

/**
 * Finds the person whom a provider's identity names. At first sight a person joins the configured organization, if the
 * provider has verified their email and its domain is listed. An account that has a password or another identity is
 * never linked by its email: whoever controls the provider, or once controlled the mailbox, would own the account.
 */
export async function personOf(
  db: Database,
  clock: Clock,
  config: IdentityProviderConfig,
  identity: ExternalIdentity,
  address: string,
): Promise<PersonOfIdentity> {
  const known = await findLinked(db, identity)
  if (known !== null) return known
  const email = verifiedEmail(identity)
  if (email === null) return refused('email_not_verified')
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  const { organization } = config
  if (organization === undefined || !config.domains.includes(domain)) return refused('domain_not_listed')
  try {
    return await db.transaction(tx => join(tx, { ...identity, email }, { config, organization, address }, clock.now()))
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error
    return (await findLinked(db, identity)) ?? refused('account_exists')
  }
}

async function findLinked(db: Queryable, identity: ExternalIdentity): Promise<PersonOfIdentity | null> {
  const id = await findLinkedPerson(db, identity)
  if (id === null) return null
  const person = await findPersonById(db, id)
  return person === null || person.disabled ? refused('disabled', id) : { kind: 'person', person }
}

async function join(
  tx: Queryable,
  identity: ExternalIdentity & { readonly email: string },
  into: { readonly config: IdentityProviderConfig; readonly organization: string; readonly address: string },
  now: Date,
): Promise<PersonOfIdentity> {
  const { config, organization: organizationId, address } = into
  if (!(await isLiveOrganization(tx, organizationId))) return refused('domain_not_listed')
  const { email } = identity
  // Until this has ended, nobody can give that account a password or an identity.
  await tx.query('select 1 from people where lower(email) = lower($1) for update', [email])
  const existing = await findPersonByEmail(tx, email)
  if (existing !== null) {
    if ((await findLinkedPerson(tx, identity)) !== null) throw new Overtaken()
    const isOpen = existing.passwordHash === null && !existing.disabled
    if (!isOpen || (await listIdentities(tx, existing.id)).length > 0) return refused('account_exists', existing.id)
  }
  const id = existing?.id ?? randomUUID()
  const name = existing?.name ?? nameOf(identity, email)
  if (existing === null && !(await insertPerson(tx, { id, email, name, passwordHash: null }, now))) {
    throw new Overtaken()
  }
  if (!(await insertIdentity(tx, id, identity, now))) throw new Overtaken()
  const membershipId = await insertMembership(
    tx,
    { organizationId, personId: id, role: 'member', permissions: [] },
    now,
  )
  if (membershipId !== null) {
    const entry = {
      organizationId,
      actor: { kind: 'person', id, name },
      action: 'member.joined',
      target: `membership/${membershipId}`,
      address,
      outcome: 'done',
      details: { role: 'member', provider: config.id },
    } as const
    await appendAudit(tx, entry, now)
  }
  const person = await findPersonById(tx, id)
  if (person === null) throw new Error('a person who has just joined is not there')
  return { kind: 'person', person }
}

const verifiedEmail = ({ email, emailVerified }: ExternalIdentity): string | null =>
  emailVerified && email !== null && /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u.test(email) ? email : null

const nameOf = ({ name }: ExternalIdentity, email: string): string =>
  name !== null && nameFault(name) === null ? name : email.slice(0, email.indexOf('@')).slice(0, 100)

const refused = (reason: Refusal, personId: string | null = null) => ({ kind: 'refused', reason, personId }) as const
