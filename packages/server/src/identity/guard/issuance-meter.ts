import type { Clock } from '../../kit/clock.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { DatabaseUnavailable } from '../../storage/postgres/database-errors.ts'
import { addressBucket } from './address-bucket.ts'
import { type Bucket, limited, metering, takeToken } from './metering.ts'
import { type Metering, MeteringFault } from './principal.ts'

/** Meters whoever has tokens issued, by the client's address: there is no credential to meter by yet. */
export class IssuanceMeter {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #bucket: Bucket

  constructor(db: Queryable, clock: Clock, bucket: Bucket) {
    this.#db = db
    this.#clock = clock
    this.#bucket = bucket
  }

  /** @throws MeteringFault if the bucket cannot be read; DatabaseUnavailable */
  async take(
    clientAddress: string,
  ): Promise<
    | { readonly kind: 'granted'; readonly metering: Metering }
    | { readonly kind: 'limited'; readonly metering: Metering; readonly retryAfterSeconds: number }
  > {
    try {
      const bucket = `issuance/${addressBucket(clientAddress)}`
      const { granted, remaining } = await takeToken(this.#db, bucket, this.#bucket, this.#clock.now())
      return granted
        ? { kind: 'granted', metering: metering('svc-auth-token', this.#bucket, remaining) }
        : limited('svc-auth-token', this.#bucket, remaining)
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      throw new MeteringFault('the issuance meter failed', { cause: error })
    }
  }
}
