import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'

const LIFE_SECONDS = 60
/** Clocks of two machines may differ by so much. */
const SKEW_SECONDS = 60

/** Tokens that open the way to one sandbox for a minute. Every process of a deployment makes them, and nobody else. */
export class RelayTokens {
  readonly #masterKey: Pick<MasterKey, 'digest'>
  readonly #clock: Clock

  constructor(masterKey: Pick<MasterKey, 'digest'>, clock: Clock) {
    this.#masterKey = masterKey
    this.#clock = clock
  }

  mint(leaseId: string): string {
    const endsAt = this.#seconds() + LIFE_SECONDS
    return `${endsAt}.${this.#proof(leaseId, endsAt).toString('hex')}`
  }

  opens(token: string, leaseId: string): boolean {
    const [, seconds, proof] = /^(\d{1,12})\.([0-9a-f]{64})$/.exec(token) ?? []
    if (seconds === undefined || proof === undefined) return false
    const left = Number(seconds) - this.#seconds()
    if (left < -SKEW_SECONDS || left > LIFE_SECONDS + SKEW_SECONDS) return false
    return timingSafeEqual(Buffer.from(proof, 'hex'), this.#proof(leaseId, Number(seconds)))
  }

  #seconds(): number {
    return Math.floor(this.#clock.now().getTime() / 1000)
  }

  #proof(leaseId: string, endsAt: number): Buffer {
    return this.#masterKey.digest(`relay/${leaseId}/${endsAt}`)
  }
}
