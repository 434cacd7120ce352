import type { ServerResponse } from 'node:http'

/**
 * Waits until the socket has taken the output, for at most `patienceMs` without progress. Only the socket's own idle
 * timer sees progress inside a large write.
 */
export function hasRoom(response: ServerResponse, patienceMs: number): Promise<boolean> {
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

/**
 * Ends a response, and destroys it if the client does not read the rest within `patienceMs`. Otherwise a slow reader
 * could hold its budget, and a stopping server, for as long as it likes.
 */
export function endWithin(response: ServerResponse, patienceMs: number, lastChunk = ''): void {
  response.end(lastChunk)
  const cut = setTimeout(() => response.destroy(), patienceMs)
  response.once('close', () => clearTimeout(cut))
}
