import type { Socket } from 'node:net'

/** How often a connection that stays open is counted. */
const EVERY_MS = 5_000

/** Tells what a connection has carried: now and then while it is open, and when it closes. */
export function countBytes(
  socket: Socket,
  report: (count: { readonly sent: number; readonly received: number }) => void,
): void {
  let sent = 0
  let received = 0
  const count = () => {
    const now = { sent: socket.bytesWritten, received: socket.bytesRead }
    if (now.sent > sent || now.received > received) report({ sent: now.sent - sent, received: now.received - received })
    ;({ sent, received } = now)
  }
  const timer = setInterval(count, EVERY_MS).unref()
  socket.once('close', () => {
    clearInterval(timer)
    count()
  })
}
