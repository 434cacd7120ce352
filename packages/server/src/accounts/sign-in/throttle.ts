import { addressBucket } from '../../identity/guard/address-bucket.ts'
import { type Bucket, retryAfterSeconds, takeToken } from '../../identity/guard/metering.ts'
import type { Clock } from '../../kit/clock.ts'
import { credentialDigest } from '../../storage/master-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'

const perAddress: Bucket = { burst: 10, perMinute: 10 }
const perEmail: Bucket = { burst: 5, perMinute: 1 }

/**
 * Bounds the guesses at passwords by the client's address and by the email, whether anybody has that email or not. The
 * buckets refill, so nobody can lock somebody else out for good.
 */
export class PasswordThrottle {
  readonly #db: Queryable
  readonly #clock: Clock

  constructor(db: Queryable, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** @returns null if the attempt may be made; otherwise the seconds until the next one */
  async take(clientAddress: string, email: string): Promise<number | null> {
    const emailDigest = credentialDigest(email.toLowerCase()).toString('base64url')
    return (
      (await this.#take(`password/address/${addressBucket(clientAddress)}`, perAddress)) ??
      (await this.#take(`password/email/${emailDigest}`, perEmail))
    )
  }

  async #take(name: string, bucket: Bucket): Promise<number | null> {
    const { granted, remaining } = await takeToken(this.#db, name, bucket, this.#clock.now())
    return granted ? null : retryAfterSeconds(bucket, remaining)
  }
}
