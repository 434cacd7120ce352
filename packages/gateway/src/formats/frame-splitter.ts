/** A frame exceeded the size limit. */
export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge'
}

const newline = 0x0a
const carriage = 0x0d

/**
 * Cuts a stream of bytes into whole server-sent events, each with the blank line that ends it. It never decodes bytes,
 * so a character split between two chunks stays whole.
 */
export class FrameSplitter {
  readonly #maxBytes: number
  #rest: Buffer = Buffer.alloc(0)

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** @throws FrameTooLarge */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    // The rest holds no complete frame end, but its last 3 bytes may begin one.
    let searched = Math.max(0, this.#rest.length - 3)
    const endOf = bytes.includes('\r\r', searched, 'latin1') ? frameEnd : lineFeedEnd
    const frames: Buffer[] = []
    let start = 0
    for (;;) {
      const end = endOf(bytes, searched)
      if (end === -1) break
      frames.push(bytes.subarray(start, end))
      start = end
      searched = end
    }
    this.#rest = start === 0 ? bytes : bytes.subarray(start)
    if (this.#rest.length > this.#maxBytes) throw new FrameTooLarge(`a frame has more than ${this.#maxBytes} bytes`)
    return frames
  }
}

/** Reads whole frames from a body; each read returns all frames that have arrived. */
export class FrameReader {
  readonly #body: { read(): Promise<Buffer | null> }
  readonly #splitter: FrameSplitter

  constructor(body: { read(): Promise<Buffer | null> }, maxBytes: number) {
    this.#body = body
    this.#splitter = new FrameSplitter(maxBytes)
  }

  /**
   * Returns the next frames, or null at the end of the body; an unfinished frame at the end is dropped.
   * @throws Error if the body fails
   */
  async next(): Promise<Buffer[] | null> {
    for (;;) {
      const chunk = await this.#body.read()
      if (chunk === null) return null
      const frames = this.#splitter.push(chunk)
      if (frames.length > 0) return frames
    }
  }
}

/**
 * Returns the offset after the first blank line at or after `from`, or -1 if there is none. Lines end with LF, CRLF or
 * CR.
 */
function frameEnd(bytes: Buffer, from: number): number {
  const fed = lineFeedEnd(bytes, from)
  const returned = bytes.indexOf('\r\r', from, 'latin1')
  return returned === -1 || (fed !== -1 && fed <= returned) ? fed : returned + 2
}

function lineFeedEnd(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    const line = bytes.indexOf(newline, at)
    if (line === -1) return -1
    if (bytes[line + 1] === newline) return line + 2
    if (bytes[line + 1] === carriage && bytes[line + 2] === newline) return line + 3
    at = line + 1
  }
}

/** Returns the data of a frame; empty for a comment. */
export function frameData(frame: Buffer): string {
  return frame
    .toString('utf8')
    .split(/\r\n|\n|\r/)
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice(line.startsWith('data: ') ? 6 : 5))
    .join('\n')
}
