import type { ServerResponse } from 'node:http'

/**
 * Waits until the output was taken, up to `patienceMs` without progress. The socket's own idle timer is the one that
 * sees progress inside a large write.
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
 * Ends a response. One whose last bytes nobody takes is cut off: it would keep its place in the budget, and a stopping
 * server, for as long as its reader likes.
 */
export function endWithin(response: ServerResponse, patienceMs: number, lastWords = ''): void {
  response.end(lastWords)
  const cut = setTimeout(() => response.destroy(), patienceMs)
  response.once('close', () => clearTimeout(cut))
}
