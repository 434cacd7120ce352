/** Requests that an address may send in vain at once, and how many a second it gets back. */
const BURST = 60
const PER_SECOND = 1
/** Addresses that are remembered; beyond, the one that was seen first is forgotten. */
const MAX_ADDRESSES = 10_000
/** A secret that was good is no guess for this long, however many requests come with it. */
const KNOWN_MS = 60_000
const MAX_KNOWN = 10_000

interface Bucket {
  tokens: number
  at: number
}

/**
 * Bounds how often an address may come with a secret that is none, such as a cookie, a ticket or the token of a host, in the
 * memory of this process: a guess must not cost a query, nor a good request a token.
 */
export class GuessMeter {
  readonly #buckets = new Map<string, Bucket>()
  readonly #known = new Map<string, number>()
  readonly #now: () => number

  /** @param now milliseconds that only go forward */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /**
   * Takes a token before the secret is looked up. A secret that was good a moment ago takes none.
   * @returns null, or after how many seconds the address may try again
   */
  take(address: string, secret: string): number | null {
    const now = this.#now()
    if ((this.#known.get(secret) ?? 0) > now) return null
    const bucket = this.#buckets.get(address) ?? { tokens: BURST, at: now }
    bucket.tokens = Math.min(BURST, bucket.tokens + ((now - bucket.at) / 1000) * PER_SECOND)
    bucket.at = now
    if (!this.#buckets.has(address)) keep(this.#buckets, address, bucket, MAX_ADDRESSES)
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / PER_SECOND)
    bucket.tokens -= 1
    return null
  }

  /**
   * Looks a secret up, unless its address has guessed too often. A secret that is none costs the address a token.
   * @param find finds nothing, or false, for a secret that is none
   * @returns what it found; a number of seconds after which the address may try again
   */
  async meter<T extends object | boolean>(
    address: string,
    secret: string,
    find: () => Promise<T | null>,
  ): Promise<T | null | number> {
    const waitSeconds = this.take(address, secret)
    if (waitSeconds !== null) return waitSeconds
    const found = await find().catch(error => {
      this.giveBack(address)
      throw error
    })
    if (found === null || found === false) this.forget(secret)
    else this.wasGood(address, secret)
    return found
  }

  /** Gives the token of a secret back that was good, and remembers the secret. */
  wasGood(address: string, secret: string): void {
    const now = this.#now()
    if ((this.#known.get(secret) ?? 0) <= now) this.giveBack(address)
    this.#known.delete(secret)
    keep(this.#known, secret, now + KNOWN_MS, MAX_KNOWN)
  }

  /** Gives a token back that nobody guessed with. */
  giveBack(address: string): void {
    const bucket = this.#buckets.get(address)
    if (bucket !== undefined) bucket.tokens = Math.min(BURST, bucket.tokens + 1)
  }

  /** Forgets a secret that is good no more. */
  forget(secret: string): void {
    this.#known.delete(secret)
  }
}

/** Adds to a map of bounded size, whose oldest entry makes room. */
function keep<T>(map: Map<string, T>, key: string, value: T, atMost: number): void {
  const [oldest] = map.size >= atMost ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}
