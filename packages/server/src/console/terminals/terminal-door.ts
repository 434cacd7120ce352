import type { IncomingMessage } from 'node:http'
import { refuseEmptyBucket } from '@berth/core/http/guard/guard.ts'
import { rawHeaderValues } from '@berth/core/http/request/raw-header.ts'
import { upgradeOf } from '@berth/core/http/routing/upgrade.ts'
import type { AddressMeter } from '@berth/core/identity/guard/address-meter.ts'
import { type TerminalRow, takeTicket } from '@berth/core/sessions/terminals/terminal-sql.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WebSocketServer } from 'ws'
import type { TerminalPlace } from './terminal-place.ts'
import { TerminalSession } from './terminal-session.ts'

const PROTOCOL = 'berth.terminal.v1'
/** Most bytes that a page sends at once: pasted text comes in pieces. */
const MAX_MESSAGE_BYTES = 64 * 1024
/** How long a sandbox is kept running for a page that has just come. */
const AWAKE_MS = 20_000
/** A page whose machine is gone without a word is found out by the second of these. */
const PING_MS = 20_000

/**
 * Registers the WebSocket of terminals. It takes a ticket in place of a credential: the page cannot set a header there, and
 * the cookie alone would let in a page on another port. So the origin must be the console's, exactly and always.
 */
export function registerTerminalDoor(
  app: FastifyInstance,
  place: TerminalPlace,
  { origin, meter }: { readonly origin: () => string; readonly meter: Pick<AddressMeter, 'take'> },
): void {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handleProtocols: () => PROTOCOL,
  })
  const alive = new WeakSet<object>()
  const pinging = setInterval(() => {
    for (const socket of server.clients) {
      if (!alive.has(socket)) socket.terminate()
      alive.delete(socket)
      socket.ping()
    }
  }, PING_MS)
  let isClosed = false
  // The page comes back at once, to this process's successor or to another one.
  app.addHook('preClose', async () => {
    isClosed = true
    clearInterval(pinging)
    for (const socket of server.clients) socket.close(1012)
  })
  app.get<{ Params: { terminalId: string } }>(
    '/cloud/terminals/:terminalId',
    { config: { page: true } },
    async (request, reply) => {
      const upgrade = upgradeOf(request.raw)
      if (upgrade === null)
        throw new ApiError(405, 'method_not_allowed', { fields: { allow: ['DELETE'] }, headers: { allow: 'DELETE' } })
      const terminal = await admit(request, request.params.terminalId)
      reply.hijack()
      server.handleUpgrade(request.raw, upgrade.take(), upgrade.head, socket => {
        // Its ticket may have been taken only after the close.
        if (isClosed) return socket.close(1012)
        alive.add(socket)
        socket.on('pong', () => alive.add(socket))
        new TerminalSession(place, socket, terminal)
          .run()
          .catch(error => request.log.error({ err: error }, 'a terminal failed'))
      })
    },
  )

  async function admit(request: FastifyRequest, terminalId: string): Promise<TerminalRow> {
    requireOwnOrigin(request.raw, origin())
    const ticket = ticketOf(request.raw)
    if (ticket === null || !isUuid(terminalId)) throw refusal('invalid_or_expired_credential')
    const verdict = await meter.take(request.ip)
    if (verdict.kind === 'limited') throw refuseEmptyBucket(verdict.metering, verdict.retryAfterSeconds)
    const { db, clock } = place.context
    const now = clock.now()
    const terminal = await takeTicket(db, {
      id: terminalId.toLowerCase(),
      digest: credentialDigest(ticket),
      origin: origin(),
      now,
      awakeUntil: new Date(now.getTime() + AWAKE_MS),
    })
    if (terminal === null) throw refusal('invalid_or_expired_credential')
    return terminal
  }
}

/** @throws ApiError 403 `cross_site_request_refused`, also if no origin is named */
function requireOwnOrigin({ rawHeaders }: IncomingMessage, own: string): void {
  const origins = rawHeaderValues(rawHeaders, 'origin')
  if (origins.length !== 1 || origins[0] !== own) throw refusal('cross_site_request_refused')
}

/** Returns the ticket among the protocols that are asked for; null if ours is not among them. */
function ticketOf({ rawHeaders }: IncomingMessage): string | null {
  const protocols = rawHeaderValues(rawHeaders, 'sec-websocket-protocol')
    .flatMap(value => value.split(','))
    .map(each => each.trim())
  const [ticket, ...others] = protocols.filter(each => each.startsWith('ticket.'))
  if (!protocols.includes(PROTOCOL) || ticket === undefined || others.length > 0) return null
  return ticket.slice('ticket.'.length)
}
