import { randomUUID } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { type MasterKey, UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../audit/append.ts'
import { insertMembership, type MembershipsBefore, membershipsBefore } from '../organizations/memberships.ts'
import { dropLinked, type Ended, endedDetails, type Linked, listLinked } from '../people/linked-access.ts'
import { hashPassword, verifyPassword } from '../people/password.ts'
import {
  endEverySession,
  findPersonByEmail,
  insertPerson,
  lockPersonByEmail,
  type Person,
  proveEmail,
} from '../people/person.ts'
import { takesCode } from '../second-factor/second-factor.ts'
import { type Guess, PasswordThrottle } from '../sign-in/throttle.ts'
import type { InvitationLink } from './one-time-link.ts'
import { nameFault, passwordFault } from './sent-fields.ts'
import { whileAlive } from './while-alive.ts'

/** Time between the password of an account and the answers to what it is asked before it joins. */
const PENDING_MS = 15 * 60_000

/** What became of a form that followed an invitation. */
export type Accepted =
  /** `ended` is null if nothing ended; `session` is when sessions of the person count from. */
  | { readonly kind: 'done'; readonly ended: Ended | null; readonly personId: string; readonly began: number }
  /** The link no longer works. */
  | { readonly kind: 'dead' }
  /** The form is not complete, or the password is not the account's. */
  | { readonly kind: 'refused'; readonly fault: string }
  /** The account belongs to the organization that invited it first, until its email is proven. */
  | { readonly kind: 'unproven' }
  /** The password holds, and before the account joins its person has something to answer. */
  | { readonly kind: 'asked'; readonly proofs: Proofs; readonly wrong: string | null }
  /** Too many passwords or codes were tried. */
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number; readonly proofs: Proofs | null }

/** What an account is asked before it joins an organization while another one governs it. */
export interface Proofs {
  /** Proves to the next form that this one brought the password. */
  readonly proof: string
  readonly code: boolean
  readonly linked: readonly Linked[]
}

/** What a form brought. */
interface Sent extends Pick<Guess, 'address'> {
  readonly secret: string
  readonly name: string
  readonly password: string
  /** The `proof` of the form before; null in the first form. */
  readonly proof: string | null
  readonly code: string
  /** Keys of the links that the person has confirmed. */
  readonly confirmed: ReadonlySet<string>
  /** Names the browser if the person has signed in there before. */
  readonly browserOf: (person: Person) => string | null
}

interface Dependencies {
  readonly db: Database
  readonly clock: Clock
  readonly masterKey: MasterKey
}

/** Something about the account has changed since it was read. */
class Overtaken extends Error {}

const notThePassword = 'An account with this email exists, and this is not its password.'

/**
 * Accepts an invitation: makes the person with this name and password, or lets a person who exists prove the password
 * of their account, and makes them a member.
 *
 * An invitation never sets the password of an account that exists. Otherwise any administrator could take over an
 * account of another organization by inviting its email and following the link. Guesses at that password are bounded as
 * those of a sign-in are, by the same buckets. Nothing but a complete form tells whether an account exists, and without
 * an account a complete form makes one.
 *
 * An account that one organization governs may have been prepared by its administrator. Before it joins another one, its
 * person enters the code of its second factor and confirms what is linked to it; the rest ends.
 *
 * @throws ApiError 503 if too many passwords are being hashed
 */
export async function acceptInvitation(the: Dependencies, link: InvitationLink, sent: Sent): Promise<Accepted> {
  const known = await findPersonByEmail(the.db, link.email)
  if (known !== null && isProof(the, known, sent)) return join(the, link, known, sent)
  const browser = known === null ? null : sent.browserOf(known)
  const guess = { address: sent.address, email: link.email, browser }
  const taken = await new PasswordThrottle(the.db, the.clock).take(guess)
  if (taken.kind === 'limited') return { ...taken, proofs: null }
  const { holds } = await verifyPassword(known?.passwordHash ?? null, sent.password)
  if (known !== null && holds && !known.disabled) {
    await taken.wasRight()
    return join(the, link, known, { ...sent, proof: null })
  }
  const fault = nameFault(sent.name) ?? passwordFault(sent.password, link.email)
  if (fault !== null) {
    // The same words whether there is an account, which an incomplete form does not make.
    return { kind: 'refused', fault: `If you have an account, this is not its password. If you have none: ${fault}` }
  }
  if (known !== null) return { kind: 'refused', fault: notThePassword }
  await taken.wasRight()
  return makePerson(the, link, sent)
}

async function makePerson({ db, clock }: Dependencies, link: InvitationLink, sent: Sent): Promise<Accepted> {
  const passwordHash = await hashPassword(sent.password)
  const person = { id: randomUUID(), name: sent.name }
  try {
    const began = await whileAlive(db, sent.secret, clock, async (tx, now) => {
      if (!(await insertPerson(tx, { ...person, email: link.email, passwordHash }, now))) throw new Overtaken()
      if (link.byOperator) await proveEmail(tx, person.id, now)
      await makeMember(tx, link, person, sent.address, null, now)
      return Math.floor(now.getTime() / 1000)
    })
    return began === null ? { kind: 'dead' } : { kind: 'done', ended: null, personId: person.id, began }
  } catch (error) {
    if (!(error instanceof Overtaken)) throw error
    return { kind: 'refused', fault: 'An account with this email was made a moment ago. Enter its password.' }
  }
}

/** @param known has proved the password */
async function join(the: Dependencies, link: InvitationLink, known: Person, sent: Sent): Promise<Accepted> {
  const { db, clock } = the
  const before = await membershipsBefore(db, known.id, link.organizationId)
  if (!mayJoin(link, known, before)) return { kind: 'unproven' }
  if (isGoverned(before)) {
    const linked = await listLinked(db, known.id)
    const proofs = { proof: proofOf(the, known, sent), code: known.totpSecret !== null, linked }
    const isRequired = proofs.code || linked.length > 0
    if (isRequired && sent.proof === null) return { kind: 'asked', proofs, wrong: null }
    if (proofs.code) {
      const guess = { address: sent.address, email: link.email, browser: sent.browserOf(known) }
      const taken = await new PasswordThrottle(db, clock).take(guess)
      if (taken.kind === 'limited') return { ...taken, proofs }
      if (!(await takesCode(the, known, sent.code, sent.address))) {
        return { kind: 'asked', proofs, wrong: 'This code is wrong, or was used before.' }
      }
      await taken.wasRight()
    }
  }
  try {
    const done = await whileAlive(db, sent.secret, clock, async (tx, now) => {
      const person = await lockPersonByEmail(tx, link.email)
      const memberships = await membershipsBefore(tx, known.id, link.organizationId)
      if (person === null || person.disabled || person.sessionsSince !== known.sessionsSince) throw new Overtaken()
      if (!mayJoin(link, person, memberships) || isGoverned(memberships) !== isGoverned(before)) throw new Overtaken()
      if ((person.totpSecret === null) !== (known.totpSecret === null)) throw new Overtaken()
      if (link.byOperator) await proveEmail(tx, person.id, now)
      const entered = Math.floor(now.getTime() / 1000)
      if (!isGoverned(memberships)) {
        await makeMember(tx, link, person, sent.address, null, now)
        return { ended: null, began: entered }
      }
      const began = await endEverySession(tx, person.id, now)
      const ended = { linked: await dropLinked(tx, person.id, now, sent.confirmed), secondFactor: false }
      await makeMember(tx, link, person, sent.address, ended, now)
      return { ended, began }
    })
    return done === null ? { kind: 'dead' } : { kind: 'done', personId: known.id, ...done }
  } catch (error) {
    if (error instanceof Overtaken) {
      return { kind: 'refused', fault: 'Your account was changed meanwhile. Enter its password once more.' }
    }
    throw error
  }
}

/** An account that nothing but an invitation vouches for stays with the organization that invited it. */
const mayJoin = ({ byOperator }: InvitationLink, { emailProven }: Person, { elsewhere }: MembershipsBefore): boolean =>
  emailProven || byOperator || elsewhere === 0

/** Until it joins, the administrators of at most one other organization could have signed in as the person. */
const isGoverned = ({ isMember, elsewhere, liveElsewhere }: MembershipsBefore): boolean =>
  !isMember && elsewhere > 0 && liveElsewhere < 2

async function makeMember(
  tx: Queryable,
  { organizationId, role, permissions }: InvitationLink,
  person: Pick<Person, 'id' | 'name'>,
  address: string,
  ended: Ended | null,
  now: Date,
): Promise<void> {
  const membershipId = await insertMembership(tx, { organizationId, personId: person.id, role, permissions }, now)
  if (membershipId === null) return
  const entry = {
    organizationId,
    actor: { kind: 'person', id: person.id, name: person.name },
    action: 'member.joined',
    target: `membership/${membershipId}`,
    address,
    outcome: 'done',
    details: { role, permissions, ...(ended !== null && { ended: endedDetails(ended) }) },
  } as const
  await appendAudit(tx, entry, now)
}

interface Proof {
  readonly personId: string
  readonly sessionsSince: number
  readonly until: number
}

function proofOf({ clock, masterKey }: Dependencies, { id, sessionsSince }: Person, { secret }: Sent): string {
  const proof: Proof = { personId: id, sessionsSince, until: clock.now().getTime() + PENDING_MS }
  return masterKey.seal(JSON.stringify(proof), `invitation/${secret}`).toString('base64url')
}

/** Whether a form before this one brought the password that the account still has. */
function isProof({ clock, masterKey }: Dependencies, person: Person, { secret, proof }: Sent): boolean {
  if (proof === null || person.disabled) return false
  try {
    const opened = masterKey.open(Buffer.from(proof, 'base64url'), `invitation/${secret}`)
    const { personId, sessionsSince, until }: Proof = JSON.parse(opened.toString())
    return personId === person.id && sessionsSince === person.sessionsSince && until > clock.now().getTime()
  } catch (error) {
    if (error instanceof UnsealError) return false
    throw error
  }
}
