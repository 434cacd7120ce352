import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { defaultBodyBounds } from '../../http/body/body-budget.ts'
import { refuseEmptyBucket } from '../../http/guard/guard.ts'
import { pathOf } from '../../http/request/request-path.ts'
import type { AddressMeter } from '../../identity/guard/address-meter.ts'
import { sendFailure } from '../pages/failure.ts'
import { isSameOrigin } from '../pages/same-origin.ts'
import type { OpenIdProvider } from './provider.ts'

const MOUNT = '/oidc'
/** Paths that issue tokens and codes to programs, and answer them in JSON. */
const issuing: ReadonlySet<string> = new Set(['/oidc/token', '/oidc/device/auth'])
/**
 * Paths that write nothing for a stranger, and so are not metered: published keys and metadata, the revocation of a token
 * in hand, and the steps of a flow that has begun, which its own cookie names.
 */
const unmetered =
  /^\/oidc\/(?:jwks|\.well-known\/[\w-]+|token\/revocation|(?:auth|device)\/(?!auth$)[\w-]+|session\/end\/(?:confirm|success))$/
/** Paths to which the provider's own pages post. */
const posted: ReadonlySet<string> = new Set(['/oidc/device', '/oidc/session/end/confirm'])

/** What the routes of the provider need. */
export interface OidcRoutes {
  readonly provider: OpenIdProvider
  readonly meter: Pick<AddressMeter, 'take'>
  readonly authUrl: () => string
  /** Time for a body to arrive; absent: as everywhere else. */
  readonly patienceMs?: number
}

/**
 * Mounts the OpenID provider: everything under `/oidc/`, and discovery also at the root. The provider reads bodies and
 * writes answers itself, so Fastify hands over before it parses anything. Whatever a stranger may begin is metered by
 * their address.
 */
export function registerOidcRoutes(app: FastifyInstance, routes: OidcRoutes): void {
  const hand = (innerOf: (url: string) => string) => async (request: FastifyRequest, reply: FastifyReply) => {
    const path = pathOf(request.url)
    if (path.startsWith(`${MOUNT}/`) && !unmetered.test(path)) {
      const verdict = await routes.meter.take(request.ip)
      if (verdict.kind === 'limited') {
        if (issuing.has(path)) return refuseLimited(reply, verdict)
        return sendFailure(refuseEmptyBucket(verdict.metering, verdict.retryAfterSeconds), request, reply)
      }
    }
    if (request.method === 'POST' && posted.has(path) && !isSameOrigin(request.headers, routes.authUrl())) {
      return reply.code(403).send({ error: 'access_denied', error_description: 'this form was sent from another site' })
    }
    const provider = await routes.provider.get()
    reply.hijack()
    const { raw } = request
    const url = raw.url
    settle(raw, routes.authUrl(), innerOf(request.url), request.ip)
    const patience = setTimeout(() => refuseSlow(request, reply), routes.patienceMs ?? defaultBodyBounds.patienceMs)
    try {
      await provider.callback()(raw, reply.raw)
    } finally {
      clearTimeout(patience)
      // The log line names the path as it arrived.
      raw.url = url
    }
  }
  const handler = () => {
    throw new Error('the OpenID provider did not answer')
  }
  app.all(`${MOUNT}/*`, { onRequest: hand(url => url.slice(MOUNT.length)), handler })
  const discovery = '/.well-known/openid-configuration'
  app.get(discovery, { onRequest: hand(url => url), handler })
  // Clients of OAuth alone look here (RFC 8414), where the issuer's path follows; what they read is the same metadata.
  const authorizationServer = '/.well-known/oauth-authorization-server'
  for (const path of [authorizationServer, `${authorizationServer}${MOUNT}`]) {
    app.get(path, { onRequest: hand(() => discovery), handler })
  }
}

/**
 * Gives the provider the one truth about where it is: it would otherwise build its URLs from what the client claims, and
 * a spoofed `Host` would end up in metadata and redirects.
 */
function settle(raw: IncomingMessage & { originalUrl?: string }, authUrl: string, inner: string, ip: string): void {
  const { host, protocol, pathname } = new URL(authUrl)
  const { headers } = raw
  headers.host = host
  headers['x-forwarded-proto'] = protocol.slice(0, -1)
  headers['x-forwarded-for'] = ip
  delete headers['x-forwarded-host']
  delete headers['forwarded']
  raw.url = inner
  raw.originalUrl = `${pathname.replace(/\/$/, '')}${MOUNT}${inner}`
}

/** Ends a request whose body takes too long. The provider reads it, and is told that the client has left. */
function refuseSlow({ raw }: FastifyRequest, { raw: response }: FastifyReply): void {
  if (raw.complete) return
  if (response.headersSent) raw.destroy()
  else {
    response.writeHead(408, { 'content-type': 'application/json; charset=utf-8', connection: 'close' })
    response.end(JSON.stringify({ error: 'request_timeout', error_description: 'the body took too long' }), () =>
      raw.destroy(),
    )
  }
}

function refuseLimited(
  reply: FastifyReply,
  verdict: Extract<Awaited<ReturnType<AddressMeter['take']>>, { kind: 'limited' }>,
): FastifyReply {
  const { headers = {}, code } = refuseEmptyBucket(verdict.metering, verdict.retryAfterSeconds)
  return reply
    .code(429)
    .headers(headers)
    .send({ error: code, error_description: `too many requests; try again in ${verdict.retryAfterSeconds} s` })
}
