import type { ServerResponse } from 'node:http'

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
    response.end()
    const cut = setTimeout(() => response.destroy(), patienceMs)
    response.once('close', () => clearTimeout(cut))
    return 'source'
  } catch (error) {
    if (response.destroyed) return 'client'
    response.destroy()
    throw error
  }
}

/**
 * Waits until the output was taken, up to `patienceMs` without progress. The socket's own idle timer is the one that
 * sees progress inside a large write.
 */
function hasRoom(response: ServerResponse, patienceMs: number): Promise<boolean> {
  return new Promise(resolve => {
    const settle = (room: boolean) => {
      response.off('drain', onRoom).off('close', onRoom).off('timeout', onTimeout)
      response.setTimeout(0)
      resolve(room)
    }
    const onRoom = () => settle(true)
    const onTimeout = () => settle(false)
    response.once('drain', onRoom).once('close', onRoom).once('timeout', onTimeout)
    response.setTimeout(patienceMs)
  })
}
