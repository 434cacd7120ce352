import type { MaskingStream, Redactor } from '@berth/platform/kit/redactor.ts'

/** Bound of `text`, `output` and each side of a `diff` in transcript events, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 64 * 1024

/** Cuts text to `maxBytes` of UTF-8 on a character boundary. */
export function cutText(text: string, maxBytes: number = MAX_TEXT_BYTES): { text: string; truncated: boolean } {
  // A UTF-16 unit is at most three bytes of UTF-8, so most texts need no counting.
  if (text.length * 3 <= maxBytes) return { text, truncated: false }
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= maxBytes) return { text, truncated: false }
  let end = maxBytes
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return { text: bytes.toString('utf8', 0, end), truncated: true }
}

/**
 * Masks text, then cuts it to `maxBytes`. Cutting first could leave part of a secret, which no redactor recognises.
 * @param isCut true if the writer has already cut the text's end
 */
export function cutMasked(
  redactor: Redactor,
  text: string,
  maxBytes: number = MAX_TEXT_BYTES,
  isCut = false,
): { text: string; truncated: boolean } {
  return cutText(redactor.beginning(text, maxBytes, isCut), maxBytes)
}

/** Collects text that arrives in pieces, and holds at most `maxBytes` of it. */
export class TextCollector {
  #text = ''
  #bytes = 0
  #truncated = false
  #totalBytes = 0
  readonly #maxBytes: number

  constructor(maxBytes: number = MAX_TEXT_BYTES) {
    this.#maxBytes = maxBytes
  }

  append(piece: string): void {
    this.#totalBytes += Buffer.byteLength(piece)
    if (this.#truncated) return
    const cut = cutText(piece, this.#maxBytes - this.#bytes)
    this.#text += cut.text
    this.#bytes += Buffer.byteLength(cut.text)
    this.#truncated = cut.truncated
  }

  get text(): string {
    return this.#text
  }

  /** Size of all pieces that arrived, kept or not. */
  get totalBytes(): number {
    return this.#totalBytes
  }

  get truncated(): boolean {
    return this.#truncated
  }
}

/** A `TextCollector` for pieces that may split a secret: it masks them as one text before it cuts. */
export class MaskedCollector extends TextCollector {
  readonly #masking: MaskingStream

  constructor(redactor: Redactor, maxBytes?: number) {
    super(maxBytes)
    this.#masking = redactor.stream()
  }

  override append(piece: string): void {
    super.append(this.#masking.push(piece))
  }

  /** Appends the text that masking held back; the caller calls it after the last piece. */
  end(): void {
    super.append(this.#masking.end())
  }
}

/** Replaces NULs and lone surrogates, which neither PostgreSQL nor JSON readers accept, with U+FFFD. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd')
}
