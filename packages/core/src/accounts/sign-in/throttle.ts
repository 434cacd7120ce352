import type { Clock } from '@berth/platform/kit/clock.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { addressBucket } from '../../identity/guard/address-bucket.ts'
import { type Bucket, giveTokenBack, retryAfterSeconds, takeToken } from '../../identity/guard/metering.ts'
import { foldEmail } from '../people/person.ts'

const perAddress: Bucket = { burst: 10, perMinute: 10 }
const perEmail: Bucket = { burst: 5, perMinute: 1 }

/** Who guesses at whose password or code. */
export interface Guess {
  readonly address: string
  readonly email: string
  /** The browser, if the person has signed in there before; null for all others. */
  readonly browser: string | null
}

/** A guess that may be made. */
interface Taken {
  readonly kind: 'taken'
  /** Takes the guess off the count: it was right. */
  readonly wasRight: () => Promise<void>
}

/**
 * Bounds wrong guesses by the client's address and by the email, whether anybody has that email or not. A browser in which
 * the person has signed in before has a bucket of its own, so no stranger's guesses keep them out.
 */
export class PasswordThrottle {
  readonly #db: Queryable
  readonly #clock: Clock

  constructor(db: Queryable, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Counts a guess before it is judged: of many at the same moment only as many are judged as the buckets hold.
   * `retryAfterSeconds` are those until the next guess.
   */
  async take(guess: Guess): Promise<Taken | { readonly kind: 'limited'; readonly retryAfterSeconds: number }> {
    const taken: (readonly [string, Bucket])[] = []
    const giveBack = async () => {
      for (const [name, bucket] of taken) await giveTokenBack(this.#db, name, bucket)
    }
    for (const [name, bucket] of await this.#buckets(guess)) {
      const { granted, remaining } = await takeToken(this.#db, name, bucket, this.#clock.now())
      if (!granted) {
        await giveBack()
        return { kind: 'limited', retryAfterSeconds: retryAfterSeconds(bucket, remaining) }
      }
      taken.push([name, bucket])
    }
    return { kind: 'taken', wasRight: giveBack }
  }

  async #buckets({ address, email, browser }: Guess): Promise<readonly (readonly [string, Bucket])[]> {
    const digest = credentialDigest(await foldEmail(this.#db, email)).toString('base64url')
    if (browser !== null) return [[`password/browser/${browser}/${digest}`, perEmail]]
    return [
      [`password/address/${addressBucket(address)}`, perAddress],
      [`password/email/${digest}`, perEmail],
    ]
  }
}
