/** Every name that the service's own cookies have, wherever they were set. */
const OWN = /^(?:__Host-|__Secure-)?svc_/i

/** The prefix keeps other hosts of the domain from setting it; without TLS there is none. */
const nameOf = (secure: boolean): string => (secure ? '__Host-svc_preview' : 'svc_preview')

/** Returns the cookie that lets a browser into one preview. Lax: a strict one is not sent behind the link that sets it. */
export const previewCookie = (secure: boolean, secret: string): string =>
  `${nameOf(secure)}=${secret}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`

/** Returns the secret in a `Cookie` header; null if there is none, or more than one. */
export function readCookie(secure: boolean, header: string | undefined): string | null {
  const name = nameOf(secure)
  const found = pairs(header).filter(pair => pair.startsWith(`${name}=`))
  return found.length === 1 ? (found[0] ?? '').slice(name.length + 1) : null
}

/** Returns a `Cookie` header without the service's own cookies; undefined if nothing is left. */
export function foreignCookies(header: string | undefined): string | undefined {
  const kept = pairs(header).filter(pair => !OWN.test(pair))
  return kept.length === 0 ? undefined : kept.join('; ')
}

/**
 * Returns the cookies that a port may set: for its own host alone, because a cookie of the domain would reach the other
 * previews, and none in the name of the service.
 */
export function ownCookies(set: readonly string[]): string[] {
  return set
    .filter(cookie => !OWN.test(cookie.trim()))
    .map(cookie =>
      cookie
        .split(';')
        .filter(attribute => !/^\s*domain\s*=/i.test(attribute))
        .join(';'),
    )
}

const pairs = (header: string | undefined): string[] =>
  (header ?? '')
    .split(';')
    .map(pair => pair.trim())
    .filter(pair => pair !== '')
