import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { foreignCookies, ownCookies } from './preview-cookie.ts'

/** Headers of one connection, which no proxy passes on (RFC 9110, 7.6.1), and `expect`, which the service has answered. */
const HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers by which a proxy in front describes itself, or by which somebody pretends to be one. */
const FORWARDED = /^(?:x-forwarded-.*|forwarded|x-real-ip)$/

/**
 * Returns the headers that a port sees. It gets neither the service's cookies nor a credential; and since development
 * servers answer only for the host they know, it is told that it is asked by its own name.
 */
export function requestHeaders(
  headers: IncomingHttpHeaders,
  { port, secure }: { readonly port: number; readonly secure: boolean },
): OutgoingHttpHeaders {
  const { authorization: _, cookie, host, origin, ...rest } = endToEnd(headers)
  const cookies = foreignCookies(headers.cookie)
  const own = `http${secure ? 's' : ''}://${headers.host}`
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => !FORWARDED.test(name))),
    host: `localhost:${port}`,
    'x-forwarded-host': headers.host,
    'x-forwarded-proto': secure ? 'https' : 'http',
    ...(origin !== undefined && { origin: origin === own ? `http://localhost:${port}` : origin }),
    ...(cookies !== undefined && { cookie: cookies }),
  }
}

/** Returns the headers of a port's answer that a browser gets. A port may not clear the data that other tabs keep of the host. */
export function answerHeaders({ headers }: IncomingMessage): OutgoingHttpHeaders {
  const { 'set-cookie': cookies, 'clear-site-data': _, ...rest } = endToEnd(headers)
  return { ...rest, ...(headers['set-cookie'] !== undefined && { 'set-cookie': ownCookies(headers['set-cookie']) }) }
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map(name => name.trim().toLowerCase())
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => !HOP.has(name) && !named.includes(name) && value !== undefined),
  )
}
