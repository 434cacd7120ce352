/** Returns an integer as SSH writes it (RFC 4251, section 5). */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Returns a string with its length before it. */
export function string(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** Returns a number of no sign as an `mpint`: without leading zeros, but with one where it would look negative. */
export function mpint(value: Uint8Array): Buffer {
  const digits = withoutZeros(value)
  return string((digits[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.alloc(1), digits]) : digits)
}

/** Returns a number of no sign without leading zeros. */
export function withoutZeros(value: Uint8Array): Buffer {
  const first = value.findIndex(byte => byte !== 0)
  return Buffer.from(first < 0 ? [] : value.subarray(first))
}

/** Reads values of SSH one after the other. @throws RangeError past the end */
export class SshReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  uint32(): number {
    return this.#take(4).readUInt32BE()
  }

  string(): Buffer {
    return this.#take(this.uint32())
  }

  text(): string {
    return this.string().toString('latin1')
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new RangeError('the key is cut short')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}
