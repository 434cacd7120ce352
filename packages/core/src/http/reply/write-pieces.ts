import type { ServerResponse } from 'node:http'
import { setImmediate as nextMoment } from 'node:timers/promises'
import { endWithin, hasRoom } from './slow-reader.ts'

/** The reason the pieces ended: the source ended, the client left, or the client stalled. */
export type PiecesEnd = 'source' | 'client' | 'stalled'

/**
 * Writes pieces as they come. It asks for the next piece only when the last was taken, so the socket's buffer and one
 * piece bound the memory of a slow client.
 * @throws the source's error; the response is then destroyed, so that no client takes the cut for a normal end
 */
export async function writePieces(stream: {
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>
  readonly pieces: AsyncIterable<Uint8Array | string>
  readonly patienceMs: number
}): Promise<PiecesEnd> {
  const { response, pieces, patienceMs } = stream
  for (const [name, value] of Object.entries(stream.headers)) if (value !== undefined) response.setHeader(name, value)
  response.writeHead(200)
  try {
    for await (const piece of pieces) {
      if (response.destroyed) return 'client'
      if (!response.write(piece) && !(await hasRoom(response, patienceMs))) {
        response.destroy()
        return 'stalled'
      }
    }
    if (response.destroyed) return 'client'
    endWithin(response, patienceMs)
    return 'source'
  } catch (error) {
    // Output of this turn is sent only in the next; let it go out before destroying the response.
    await nextMoment()
    if (response.destroyed) return 'client'
    response.destroy()
    throw error
  }
}
