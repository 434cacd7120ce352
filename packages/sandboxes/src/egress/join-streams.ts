import type { Duplex } from 'node:stream'

/**
 * Joins two streams at the pace of the slower side. The end of one way is passed on and leaves the other open; a break of
 * either breaks both.
 */
export function joinStreams(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy())
    from.once('close', () => {
      if (!from.readableEnded || !from.writableFinished) to.destroy()
    })
    from.pipe(to)
  }
}
