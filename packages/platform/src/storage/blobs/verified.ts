import { createHash } from 'node:crypto'
import { BlobCorrupt } from './blobs.ts'

/** Passes content on; content that does not match its digest ends in BlobCorrupt instead of an end. */
export async function* verified(content: AsyncIterable<Buffer>, sha256: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== sha256) throw new BlobCorrupt(sha256)
}
