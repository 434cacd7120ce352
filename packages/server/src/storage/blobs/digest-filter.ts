import { randomInt } from 'node:crypto'

const probes = 7

/**
 * A set of digests in bounded memory (a Bloom filter): whatever was added is in it, and of the rest a few seem to be.
 * Digests are as good as random, so their own words, spread by factors drawn anew for each filter, say where to look:
 * what one filter takes for a member, the next one hardly does.
 */
export class DigestFilter {
  readonly #bits: Uint8Array
  readonly #shift: number
  readonly #factors = Array.from({ length: probes }, () => randomInt(2 ** 31) * 2 + 1)

  /** @param sizeBits base-2 logarithm of the bits: with 28 (32 MiB) and 10 million digests, 1 in 30 000 others seems in */
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
