import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** How long a tunnel may last, and be silent. The first bounds what keeps dripping, for which the second never comes. */
export interface TunnelBounds {
  readonly lifeMs: number
  readonly idleMs: number
}

/**
 * Joins the two ends of a tunnel until both have ended. Each direction ends by itself (a half-close travels on); an end
 * that breaks takes the other along, and so does a bound.
 */
export function joinTunnel(client: Duplex, upstream: Socket, alreadyRead: Buffer, bounds: TunnelBounds): void {
  const end = () => upstream.destroy()
  const life = setTimeout(end, bounds.lifeMs)
  // Whatever the client sends or takes passes here.
  upstream.setTimeout(bounds.idleMs, end).once('close', () => clearTimeout(life))
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
