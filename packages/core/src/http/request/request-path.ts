import type { IncomingMessage } from 'node:http'
import { gatewayTarget } from './gateway-target.ts'

/** Returns the path of a request target, without its query. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** Returns the query of a request target, without its question mark. */
export function queryOf(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * Rewrites a request target for the router. It drops an origin that a proxy left, rewrites the gateway's paths, and
 * escapes path segments that do not decode. The router would refuse the whole target for such a segment; escaped,
 * it meets the same checks as any other invalid id.
 */
export function routableTarget(request: Pick<IncomingMessage, 'url' | 'method' | 'headers'>): string {
  const url = gatewayTarget((request.url ?? '/').replace(/^https?:\/\/[^/?#]*/i, ''), request)
  const path = pathOf(url)
  if (!path.includes('%') || decodes(path)) return url
  const segments = path.split('/').map(segment => (decodes(segment) ? segment : segment.replaceAll('%', '%25')))
  return segments.join('/') + url.slice(path.length)
}

/** Returns whether a path belongs to the API, where even an unknown path requires a bearer first. Its reference is pages. */
export const isApiPath = (path: string): boolean => /^\/(?:v1(?!\/docs\/)|v1beta|cloud)(?:\/|$)/.test(path)

/** Returns whether a path lies below Google's version. Only clients of Google's formats use such paths. */
export const isGooglePath = (path: string): boolean => path === '/v1beta' || path.startsWith('/v1beta/')
