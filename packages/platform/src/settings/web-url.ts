/**
 * Reads an http or https URL without user, query or fragment and removes a final slash; returns undefined for other
 * text.
 */
export function parseWebUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

/** Reads an http or https origin; returns undefined for anything with a path. */
export function parseOrigin(text: string): string | undefined {
  const url = parseWebUrl(text)
  return url !== undefined && new URL(url).origin === url ? url : undefined
}

/** Returns the origin of a listener without TLS, as a client on this host writes it. */
export function originOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${addressOf(reachable, port)}`
}

/** Returns host and port as one text, as URLs have it. */
export const addressOf = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Returns true if no other machine can reach a listener on this host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}
