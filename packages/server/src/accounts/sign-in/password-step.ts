import type { Clock } from '../../kit/clock.ts'
import { type MasterKey, UnsealError } from '../../storage/master-key.ts'
import type { Database } from '../../storage/postgres/database.ts'
import { hashPassword, verifyPassword } from '../people/password.ts'
import { findPersonByEmail, type PersonToSignIn, replacePasswordHash, useTotpStep } from './sign-in-sql.ts'
import { PasswordThrottle } from './throttle.ts'
import { stepOfCode } from './totp.ts'

/** Time between the password and the code of the second factor. */
const FACTOR_MS = 5 * 60_000

/** The outcome of one attempt to sign in. */
export type Attempt =
  | { readonly kind: 'signed-in'; readonly personId: string; readonly methods: readonly string[] }
  /** The password holds; `factor` proves that to the next step of the same interaction. */
  | { readonly kind: 'second-factor'; readonly factor: string }
  /** `personId` is null if nobody has that email. */
  | { readonly kind: 'wrong'; readonly personId: string | null }
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number }
  /** The password was given too long ago. */
  | { readonly kind: 'too-late' }

interface Factor {
  readonly email: string
  readonly until: number
}

/** Verifies passwords and second factors. It treats emails that nobody has as it treats all others. */
export class PasswordStep {
  readonly #db: Database
  readonly #clock: Clock
  readonly #masterKey: MasterKey
  readonly #throttle: PasswordThrottle

  constructor({ db, clock, masterKey }: { db: Database; clock: Clock; masterKey: MasterKey }) {
    this.#db = db
    this.#clock = clock
    this.#masterKey = masterKey
    this.#throttle = new PasswordThrottle(db, clock)
  }

  /** @throws ApiError 503 if too many passwords are being hashed */
  async password(interaction: string, address: string, email: string, password: string): Promise<Attempt> {
    const retryAfterSeconds = await this.#throttle.take(address, email)
    if (retryAfterSeconds !== null) return { kind: 'limited', retryAfterSeconds }
    const person = await findPersonByEmail(this.#db, email)
    const stored = person?.password_hash ?? null
    const { holds, rehash } = await verifyPassword(stored, password)
    if (!holds || person === null || stored === null || person.disabled_at !== null) {
      return { kind: 'wrong', personId: person?.id ?? null }
    }
    if (rehash) await replacePasswordHash(this.#db, person.id, stored, await hashPassword(password))
    if (person.totp_secret === null) return { kind: 'signed-in', personId: person.id, methods: ['pwd'] }
    const factor: Factor = { email, until: this.#clock.now().getTime() + FACTOR_MS }
    const sealed = this.#masterKey.seal(JSON.stringify(factor), factorContext(interaction))
    return { kind: 'second-factor', factor: sealed.toString('base64url') }
  }

  /** @param sealed the `factor` of the password's attempt */
  async secondFactor(interaction: string, address: string, sealed: string, code: string): Promise<Attempt> {
    const factor = this.#openFactor(interaction, sealed)
    if (factor === null || factor.until <= this.#clock.now().getTime()) return { kind: 'too-late' }
    const retryAfterSeconds = await this.#throttle.take(address, factor.email)
    if (retryAfterSeconds !== null) return { kind: 'limited', retryAfterSeconds }
    const person = await findPersonByEmail(this.#db, factor.email)
    if (person === null || person.disabled_at !== null || person.totp_secret === null) return { kind: 'too-late' }
    if (!(await this.#takesCode(person, person.totp_secret, code))) return { kind: 'wrong', personId: person.id }
    return { kind: 'signed-in', personId: person.id, methods: ['pwd', 'otp'] }
  }

  /** Takes each code once. */
  async #takesCode({ id }: PersonToSignIn, sealed: Buffer, code: string): Promise<boolean> {
    const step = stepOfCode(this.#masterKey.open(sealed, `totp/${id}`), code, this.#clock.now())
    return step !== null && (await useTotpStep(this.#db, id, step))
  }

  #openFactor(interaction: string, sealed: string): Factor | null {
    try {
      const opened = this.#masterKey.open(Buffer.from(sealed, 'base64url'), factorContext(interaction))
      return JSON.parse(opened.toString())
    } catch (error) {
      if (error instanceof UnsealError) return null
      throw error
    }
  }
}

const factorContext = (interaction: string): string => `second-factor/${interaction}`
