import { randomUUID } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { IdentityProviderConfig } from '@berth/platform/settings/identity-providers.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../audit/append.ts'
import { endResets } from '../links/one-time-link.ts'
import { nameFault } from '../links/sent-fields.ts'
import { insertMembership } from '../organizations/memberships.ts'
import { isLiveOrganization } from '../organizations/organization.ts'
import { dropLinked, endedDetails } from '../people/linked-access.ts'
import {
  endEverySession,
  findPersonById,
  insertPerson,
  lockPersonByEmail,
  type Person,
  proveEmail,
  setPassword,
} from '../people/person.ts'
import { recordPerson } from '../people/record-person.ts'
import { removeSecondFactor } from '../second-factor/second-factor.ts'
import type { ExternalIdentity } from './external-provider.ts'
import { findLinkedPerson, insertIdentity, listIdentities } from './identity-sql.ts'

/** The person of an identity, or why nobody is let in. `personId` is the person who is refused, if one is known. */
export type PersonOfIdentity =
  | { readonly kind: 'person'; readonly person: Person }
  /** An account of the verified email exists that only an invitation vouches for: its person may take it over. */
  | { readonly kind: 'claimable'; readonly email: string }
  | { readonly kind: 'refused'; readonly reason: Refusal; readonly personId: string | null }

export type Refusal = 'disabled' | 'email_not_verified' | 'domain_not_listed' | 'account_exists'

/** Two browsers of one person came back at the same moment. */
class Overtaken extends Error {}

/** From where somebody signs in, and whether they take over an account that waits for its person. */
interface Arrival {
  readonly address: string
  readonly claims: boolean
}

/**
 * Finds the person whom a provider's identity names. At first sight a person joins the configured organization, if the
 * provider has verified their email and its domain is listed. An account whose email is proven and that has a password or
 * another identity is never linked by its email: whoever controls the provider, or once controlled the mailbox, would own
 * the account. One that nothing but an invitation vouches for is taken over, if the person says so: whoever invited them
 * may have followed the link.
 */
export async function personOf(
  db: Database,
  clock: Clock,
  config: IdentityProviderConfig,
  identity: ExternalIdentity,
  arrival: Arrival,
): Promise<PersonOfIdentity> {
  const known = await findLinked(db, identity)
  if (known !== null) {
    if (known.kind === 'person') await proveByProvider(db, config, known.person, identity, clock.now())
    return known
  }
  const email = verifiedEmail(identity)
  if (email === null) return refused('email_not_verified')
  const { organization } = config
  if (organization === undefined || !isListed(config, email)) return refused('domain_not_listed')
  try {
    return await db.transaction(tx =>
      join(tx, { ...identity, email }, { config, organization, ...arrival }, clock.now()),
    )
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error
    return (await findLinked(db, identity)) ?? refused('account_exists')
  }
}

/**
 * Notes that the email of an account is proven, if the provider of an identity that is linked to it has verified that very
 * email and lists its domain.
 */
export async function proveByProvider(
  db: Queryable,
  config: IdentityProviderConfig,
  { id, email, emailProven }: Pick<Person, 'id' | 'email' | 'emailProven'>,
  identity: ExternalIdentity,
  now: Date,
): Promise<void> {
  const verified = verifiedEmail(identity)
  if (emailProven || verified === null || !isListed(config, verified) || !isSameEmail(verified, email)) return
  await proveEmail(db, id, now)
}

async function findLinked(
  db: Queryable,
  identity: ExternalIdentity,
): Promise<Exclude<PersonOfIdentity, { kind: 'claimable' }> | null> {
  const id = await findLinkedPerson(db, identity)
  if (id === null) return null
  const person = await findPersonById(db, id)
  return person === null || person.disabled ? refused('disabled', id) : { kind: 'person', person }
}

async function join(
  tx: Queryable,
  identity: ExternalIdentity & { readonly email: string },
  into: Arrival & { readonly config: IdentityProviderConfig; readonly organization: string },
  now: Date,
): Promise<PersonOfIdentity> {
  const { config, organization: organizationId, address } = into
  if (!(await isLiveOrganization(tx, organizationId))) return refused('domain_not_listed')
  const { email } = identity
  // Until this has ended, nobody can give that account a password or an identity.
  const existing = await lockPersonByEmail(tx, email)
  if (existing !== null) {
    if ((await findLinkedPerson(tx, identity)) !== null) throw new Overtaken()
    const isUnused = existing.passwordHash === null && (await listIdentities(tx, existing.id)).length === 0
    const isOpen = isUnused || !existing.emailProven
    if (existing.disabled || !isOpen || !isSameEmail(email, existing.email))
      return refused('account_exists', existing.id)
    if (!isUnused && !into.claims) return { kind: 'claimable', email: existing.email }
    await takeOver(tx, existing, { address, provider: config.id }, now)
  }
  const id = existing?.id ?? randomUUID()
  const name = existing?.name ?? nameOf(identity, email)
  if (existing === null && !(await insertPerson(tx, { id, email, name, passwordHash: null }, now))) {
    throw new Overtaken()
  }
  await proveEmail(tx, id, now)
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

/** Ends everything by which somebody else may get into an account: its person has come, and signs in by a provider. */
async function takeOver(
  tx: Queryable,
  { id, name, totpSecret }: Person,
  { address, provider }: { readonly address: string; readonly provider: string },
  now: Date,
): Promise<void> {
  await setPassword(tx, id, null)
  await endEverySession(tx, id, now)
  await endResets(tx, id, now)
  const ended = { linked: await dropLinked(tx, id, now), secondFactor: totpSecret !== null }
  await removeSecondFactor(tx, id)
  const actor = { kind: 'person', id, name } as const
  const details = { provider, ...endedDetails(ended) }
  await recordPerson(tx, id, { actor, action: 'person.taken_over', address, outcome: 'done', details }, now)
}

const verifiedEmail = ({ email, emailVerified }: ExternalIdentity): string | null =>
  emailVerified && email !== null && /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u.test(email) ? email : null

const isListed = ({ domains }: IdentityProviderConfig, email: string): boolean =>
  domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase())

/**
 * Whether a provider's email and an account's are one mailbox. Only ASCII letters fold: to the database some others are the
 * same letter as well, and the mailbox of one spelling proves nothing about that of the other.
 */
const isSameEmail = (one: string, other: string): boolean => foldAscii(one) === foldAscii(other)

const foldAscii = (text: string): string => text.replaceAll(/[A-Z]/g, letter => letter.toLowerCase())

const nameOf = ({ name }: ExternalIdentity, email: string): string =>
  name !== null && nameFault(name) === null ? name : email.slice(0, email.indexOf('@')).slice(0, 100)

const refused = (reason: Refusal, personId: string | null = null) => ({ kind: 'refused', reason, personId }) as const
