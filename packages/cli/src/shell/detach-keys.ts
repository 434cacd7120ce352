const tilde = 0x7e
const dot = 0x2e
const lineEnds: ReadonlySet<number> = new Set([0x0a, 0x0d])

/** Finds the keys that leave a terminal in typed input: `~.` at the start of a line; `~~` there types one `~`. */
export class DetachKeys {
  #startsLine = true
  #held = false

  /** Returns the bytes to type, and whether the person leaves; input after the keys is dropped. */
  read(typed: Uint8Array): { readonly bytes: Uint8Array; readonly leaves: boolean } {
    const bytes: number[] = []
    for (const byte of typed) {
      if (this.#held) {
        this.#held = false
        if (byte === dot) return { bytes: Uint8Array.from(bytes), leaves: true }
        bytes.push(tilde)
        this.#startsLine = false
        if (byte === tilde) continue
      } else if (byte === tilde && this.#startsLine) {
        this.#held = true
        continue
      }
      bytes.push(byte)
      this.#startsLine = lineEnds.has(byte)
    }
    return { bytes: Uint8Array.from(bytes), leaves: false }
  }
}
