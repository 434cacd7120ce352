import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

/** A page as it lies in the blob store. */
export interface PackedPage {
  readonly bytes: Uint8Array
  /** SHA-256 of the text without compression, which the database compares with its rows. */
  readonly textSha256: string
}

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/**
 * Packs envelopes, one a line: JSON text has no line break of its own. The same envelopes give the same bytes, so a chore that
 * was killed and begins anew puts the same blob.
 */
export async function packPage(envelopes: readonly string[]): Promise<PackedPage> {
  const text = Buffer.from(envelopes.join('\n'))
  return { bytes: await compress(text), textSha256: digestOf(text) }
}

/**
 * Returns the envelopes of a page, byte for byte.
 * @throws Error if they are not those that were packed
 */
export async function unpackPage({ bytes, textSha256 }: PackedPage): Promise<readonly string[]> {
  const text = await decompress(bytes)
  if (digestOf(text) !== textSha256) throw new Error('a page of events is not what was sealed')
  return text.toString().split('\n')
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
