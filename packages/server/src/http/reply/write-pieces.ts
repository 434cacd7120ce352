import type { ServerResponse } from 'node:http'
import { setImmediate as nextMoment } from 'node:timers/promises'
import { endWithin, hasRoom } from './slow-reader.ts'

/** Why the pieces ended: there were no more, the client left, or it took nothing for too long. */
export type PiecesEnd = 'source' | 'client' | 'stalled'

/**
 * Writes pieces as they come. The next is asked for only when the last was taken, so what waits for a slow client is
 * bounded by the socket's buffer and one piece.
 * @throws what the source throws; the response is then destroyed, so that no client takes the cut for a normal end
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
    // What was written in this moment is not sent before the next.
    await nextMoment()
    if (response.destroyed) return 'client'
    response.destroy()
    throw error
  }
}
