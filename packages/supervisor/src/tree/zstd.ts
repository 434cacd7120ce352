import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** A larger window than any of our frames needs, and one that any reader can afford. */
const WINDOW_LOG_MAX = 24

/** Compresses in the thread pool, in one piece: a buffer for the worst case needs only one trip. */
export function zstd(content: Uint8Array, level: number): Promise<Buffer> {
  return compress(content, {
    chunkSize: content.length + (content.length >>> 7) + 1024,
    params: {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  })
}

/**
 * Decompresses content that must have exactly `size` bytes, and stops if it has more.
 * @throws RangeError if it has fewer or more
 */
export async function unzstd(content: Uint8Array, size: number): Promise<Buffer> {
  const result = await decompress(content, {
    chunkSize: Math.max(64, size + 1),
    maxOutputLength: Math.max(1, size),
    params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX },
  })
  if (result.length !== size) throw new RangeError(`${result.length} bytes instead of the declared ${size}`)
  return result
}
