import { randomInt } from 'node:crypto'

const probes = 7

/**
 * A set of digests in bounded memory (a Bloom filter): it has every digest that was added, and a few others. A digest
 * is as good as random, so its own words choose the bits. Each filter spreads them by factors of its own, so two
 * filters rarely share a false positive.
 */
export class DigestFilter {
  readonly #bits: Uint8Array
  readonly #shift: number
  readonly #factors = Array.from({ length: probes }, () => randomInt(2 ** 31) * 2 + 1)

  /**
   * Makes an empty filter.
   * @param sizeBits base-2 logarithm of the number of bits: with 28 (32 MiB) and 10 million digests, 1 in 30 000 others
   * is a false positive
   */
  constructor(sizeBits = 28) {
    this.#bits = new Uint8Array(2 ** (sizeBits - 3))
    this.#shift = 32 - sizeBits
  }

  add(sha256: string): void {
    for (const at of this.#places(sha256)) this.#bits[at >>> 3] = (this.#bits[at >>> 3] ?? 0) | (1 << (at & 7))
  }

  has(sha256: string): boolean {
    return this.#places(sha256).every(at => ((this.#bits[at >>> 3] ?? 0) & (1 << (at & 7))) !== 0)
  }

  #places(sha256: string): number[] {
    return this.#factors.map((factor, index) => {
      const word = Number.parseInt(sha256.slice(index * 8, index * 8 + 8), 16)
      return Math.imul(word, factor) >>> this.#shift
    })
  }
}
