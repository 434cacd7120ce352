import { Readable } from 'node:stream'
import type { Spooled } from '@berth/platform/storage/blobs/spool.ts'
import { RandomAccessReader } from 'yauzl'

const CHUNK_BYTES = 65_536

/** Lets yauzl read spooled content. */
export class SpooledReader extends RandomAccessReader {
  readonly #spooled: Spooled
  /** The first failure to read the content itself; any other failure of yauzl is a fault of the archive. */
  failure: unknown

  constructor(spooled: Spooled) {
    super()
    this.#spooled = spooled
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#chunks(start, end))
  }

  /** Reads without the three streams of yauzl's own method: an archive has thousands of headers. */
  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.#read(position, length).then(
      bytes => {
        buffer.set(bytes, offset)
        callback(null)
      },
      error => callback(error),
    )
  }

  async *#chunks(start: number, end: number): AsyncGenerator<Uint8Array> {
    for (let position = start; position < end; ) {
      const bytes = await this.#read(position, Math.min(CHUNK_BYTES, end - position))
      yield bytes
      position += bytes.length
    }
  }

  async #read(position: number, length: number): Promise<Uint8Array> {
    // A place in the file is whatever the archive says.
    if (position + length > this.#spooled.sizeBytes) throw new Error('it names bytes beyond its end')
    try {
      return await this.#spooled.read(position, length)
    } catch (error) {
      this.failure ??= error
      throw error
    }
  }
}
