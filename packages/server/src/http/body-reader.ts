import type { Readable } from 'node:stream'

/** How much of a refused body is still taken in, so that the client gets to read the refusal. */
const toleratedExcessBytes = 16 * 1_048_576

/** What came of reading a body. */
export type BodyReading = { readonly kind: 'read'; readonly bytes: Buffer } | { readonly kind: 'too_large' }

/**
 * Reads a body of at most `limitBytes`. A larger one is answered at once and its rest thrown away: closing the
 * connection on a client that still writes would lose the answer. A client that never stops is cut off.
 * @throws when the client breaks off
 */
export function readBody(body: Readable, announcedBytes: number, limitBytes: number): Promise<BodyReading> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let received = 0
    const overflow = () => {
      chunks.length = 0
      resolve({ kind: 'too_large' })
    }
    if (announcedBytes > limitBytes) overflow()
    body.on('data', (chunk: Buffer) => {
      received += chunk.length
      if (received > limitBytes + toleratedExcessBytes) body.destroy()
      else if (received > limitBytes || announcedBytes > limitBytes) overflow()
      else chunks.push(chunk)
    })
    body.once('end', () => resolve({ kind: 'read', bytes: Buffer.concat(chunks, received) }))
    body.once('error', reject)
    body.once('close', () => {
      if (!body.readableEnded) reject(new Error('the client broke off its body'))
    })
  })
}
