import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * Joins the two ends of a tunnel until both have ended. Each direction ends by itself (a half-close travels on); an end
 * that breaks takes the other along.
 */
export function joinTunnel(client: Duplex, upstream: Socket, alreadyRead: Buffer): void {
  endAfter(client, upstream)
  endAfter(upstream, client)
  if (alreadyRead.length > 0) upstream.write(alreadyRead)
  client.pipe(upstream)
  upstream.pipe(client)
}

/** When `one` closes, `other` goes too: at once after a break, and after a proper end once it has sent all it holds. */
function endAfter(one: Duplex, other: Duplex): void {
  // The close that follows tells all there is to know.
  one.on('error', () => undefined)
  one.once('close', () => {
    const sending = one.readableEnded && other.writableEnded && !other.writableFinished
    if (sending) other.once('finish', () => other.destroy())
    else other.destroy()
  })
}
