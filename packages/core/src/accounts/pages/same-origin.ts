import type { IncomingHttpHeaders } from 'node:http'

/**
 * Returns whether a form came from a page of this service. `Sec-Fetch-Site` decides where the browser sends it, because
 * pages with `Referrer-Policy: no-referrer` send the origin `null`. A program that sends neither header is no browser,
 * so nobody can make it post a form with somebody else's cookies.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, authUrl: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin } = headers
  return origin === undefined || origin === new URL(authUrl).origin
}
