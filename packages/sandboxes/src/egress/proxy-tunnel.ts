import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** The maximum duration and silence of a tunnel. The former bounds a tunnel that drips, which is never silent. */
export interface TunnelBounds {
  readonly lifeMs: number
  readonly idleMs: number
}

/**
 * Joins the two ends of a tunnel until both have ended. Each direction ends on its own (a half-close is forwarded). If
 * one end breaks, or a bound passes, both ends close.
 */
export function joinTunnel(client: Duplex, upstream: Socket, alreadyRead: Buffer, bounds: TunnelBounds): void {
  const end = () => upstream.destroy()
  const life = setTimeout(end, bounds.lifeMs)
  // All traffic in either direction passes this socket.
  upstream.setTimeout(bounds.idleMs, end).once('close', () => clearTimeout(life))
  endAfter(client, upstream)
  endAfter(upstream, client)
  if (alreadyRead.length > 0) upstream.write(alreadyRead)
  client.pipe(upstream)
  upstream.pipe(client)
}

/** Closes `other` when `one` closes: at once after a break, or after a clean end once `other` has sent all its data. */
function endAfter(one: Duplex, other: Duplex): void {
  // The `close` event that follows is enough.
  one.on('error', () => undefined)
  one.once('close', () => {
    const sending = one.readableEnded && other.writableEnded && !other.writableFinished
    if (sending) other.once('finish', () => other.destroy())
    else other.destroy()
  })
}
