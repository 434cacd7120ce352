import { once } from 'node:events'
import type { Duplex } from 'node:stream'

const NEWLINE = 0x0a

/**
 * Reads what a supervisor answers to the first newline, and leaves what follows in the stream.
 * @throws Error if it leaves before, or if the line is longer
 */
export async function readLine(stream: Duplex, mostBytes: number): Promise<string> {
  let seen = Buffer.alloc(0)
  for (;;) {
    const chunk: Buffer | null = stream.read()
    if (chunk === null) {
      if (stream.readableEnded || stream.destroyed) throw new Error('the supervisor left')
      await Promise.race([once(stream, 'readable'), once(stream, 'end'), once(stream, 'close')])
      continue
    }
    seen = Buffer.concat([seen, chunk])
    const end = seen.indexOf(NEWLINE)
    if (end !== -1) {
      if (end + 1 < seen.length) stream.unshift(seen.subarray(end + 1))
      return seen.subarray(0, end).toString()
    }
    if (seen.length > mostBytes) throw new Error('the supervisor does not answer with a line')
  }
}
