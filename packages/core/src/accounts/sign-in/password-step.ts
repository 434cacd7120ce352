import { createHash } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { type MasterKey, UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { hashPassword, verifyPassword } from '../people/password.ts'
import { findPersonByEmail, findPersonById, type Person } from '../people/person.ts'
import { takesCode } from '../second-factor/second-factor.ts'
import { replacePasswordHash } from './sign-in-sql.ts'
import { PasswordThrottle } from './throttle.ts'

/** Time between the password and the code of the second factor. */
const FACTOR_MS = 5 * 60_000

/** A person who has proved who they are. */
export interface Proven {
  readonly personId: string
  /** When their session begins, in seconds of the epoch. */
  readonly began: number
  /** Authentication methods (RFC 8176). */
  readonly methods: readonly string[]
}

/** The outcome of one attempt to sign in. */
export type Attempt =
  | { readonly kind: 'signed-in'; readonly proven: Proven }
  /** The password holds; `factor` proves that to the next step of the same form. */
  | { readonly kind: 'second-factor'; readonly factor: string }
  /** `personId` is null if nobody has that email. */
  | { readonly kind: 'wrong'; readonly personId: string | null }
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number }
  /** The first step was taken too long ago, or the password has been changed since. */
  | { readonly kind: 'too-late' }

interface Factor {
  readonly proven: Proven
  readonly until: number
}

/** Where an attempt comes from. */
interface AttemptFrom {
  readonly address: string
  /** Names the browser if this person has signed in there before; null otherwise. */
  readonly browserOf: (person: Person | null) => string | null
}

/** Verifies passwords and second factors. It treats emails that nobody has as it treats all others. */
export class PasswordStep {
  readonly #context: { readonly db: Database; readonly clock: Clock; readonly masterKey: MasterKey }
  readonly #throttle: PasswordThrottle

  constructor(context: { readonly db: Database; readonly clock: Clock; readonly masterKey: MasterKey }) {
    this.#context = context
    this.#throttle = new PasswordThrottle(context.db, context.clock)
  }

  /**
   * @param bound names the form: the factor that follows holds for no other
   * @throws ApiError 503 if too many passwords are being hashed
   */
  async password(
    bound: string,
    { address, browserOf }: AttemptFrom,
    email: string,
    password: string,
  ): Promise<Attempt> {
    const person = await findPersonByEmail(this.#context.db, email)
    const taken = await this.#throttle.take({ address, email, browser: browserOf(person) })
    if (taken.kind === 'limited') return taken
    const stored = person?.passwordHash ?? null
    const { holds, rehash } = await verifyPassword(stored, password)
    if (!holds || person === null || stored === null || person.disabled) {
      return { kind: 'wrong', personId: person?.id ?? null }
    }
    await taken.wasRight()
    if (rehash) await replacePasswordHash(this.#context.db, person.id, stored, await hashPassword(password))
    return this.afterFirst(bound, person, ['pwd'])
  }

  /** Goes on after a person's first factor: to the second one if they have one. */
  afterFirst(
    bound: string,
    { id, sessionsSince, totpSecret }: Person,
    methods: readonly string[],
  ): Extract<Attempt, { kind: 'signed-in' | 'second-factor' }> {
    const now = this.#context.clock.now().getTime()
    // Of the row that the first factor was compared with: a session of an old password must not outlive its change.
    const proven = { personId: id, began: Math.max(Math.floor(now / 1000), sessionsSince), methods }
    if (totpSecret === null) return { kind: 'signed-in', proven }
    const factor: Factor = { proven, until: now + FACTOR_MS }
    const sealed = this.#context.masterKey.seal(JSON.stringify(factor), factorContext(bound))
    return { kind: 'second-factor', factor: sealed.toString('base64url') }
  }

  /** @param sealed the `factor` of the first step's attempt */
  async secondFactor(
    bound: string,
    { address, browserOf }: AttemptFrom,
    sealed: string,
    code: string,
  ): Promise<Attempt> {
    const factor = this.#openFactor(bound, sealed)
    if (factor === null || factor.until <= this.#context.clock.now().getTime()) return { kind: 'too-late' }
    const { proven } = factor
    const person = await findPersonById(this.#context.db, proven.personId)
    if (person === null || person.disabled || person.totpSecret === null) return { kind: 'too-late' }
    if (proven.began < person.sessionsSince) return { kind: 'too-late' }
    const taken = await this.#throttle.take({ address, email: person.email, browser: browserOf(person) })
    if (taken.kind === 'limited') return taken
    const form = createHash('sha256').update(sealed).digest()
    if (!(await takesCode(this.#context, person, code, address, form))) return { kind: 'wrong', personId: person.id }
    await taken.wasRight()
    return { kind: 'signed-in', proven: { ...proven, methods: [...proven.methods, 'otp'] } }
  }

  #openFactor(bound: string, sealed: string): Factor | null {
    try {
      const opened = this.#context.masterKey.open(Buffer.from(sealed, 'base64url'), factorContext(bound))
      return JSON.parse(opened.toString())
    } catch (error) {
      if (error instanceof UnsealError) return null
      throw error
    }
  }
}

const factorContext = (bound: string): string => `second-factor/${bound}`
