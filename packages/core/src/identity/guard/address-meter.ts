import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { addressBucket } from './address-bucket.ts'
import { type Bucket, limited, metering, takeToken } from './metering.ts'
import { type Metering, MeteringFault } from './principal.ts'

/** The reasons to meter callers without a credential; each has its own buckets. */
const policies = { issuance: 'svc-auth-token', hooks: 'svc-cloud-auth' } as const

/** Meters callers by the client's address: there is no credential to meter by yet. */
export class AddressMeter {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #bucket: Bucket
  readonly #of: keyof typeof policies

  constructor(db: Queryable, clock: Clock, bucket: Bucket, of: keyof typeof policies = 'issuance') {
    this.#db = db
    this.#clock = clock
    this.#bucket = bucket
    this.#of = of
  }

  /** @throws MeteringFault if the bucket cannot be read; DatabaseUnavailable */
  async take(
    clientAddress: string,
  ): Promise<
    | { readonly kind: 'granted'; readonly metering: Metering }
    | { readonly kind: 'limited'; readonly metering: Metering; readonly retryAfterSeconds: number }
  > {
    try {
      const bucket = `${this.#of}/${addressBucket(clientAddress)}`
      const { granted, remaining } = await takeToken(this.#db, bucket, this.#bucket, this.#clock.now())
      return granted
        ? { kind: 'granted', metering: metering(policies[this.#of], this.#bucket, remaining) }
        : limited(policies[this.#of], this.#bucket, remaining)
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      throw new MeteringFault('the meter of addresses failed', { cause: error })
    }
  }
}
