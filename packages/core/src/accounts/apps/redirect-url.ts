import { isIP } from 'node:net'

/**
 * Returns whether an app may have people sent back to a URL after a consent.
 * @param development allows `http`, on loopback addresses alone
 */
export function isRedirectUrl(text: string, development: boolean): boolean {
  // The whole string is compared later, so it must be the only spelling: no fragment, no userinfo, no control character.
  if (!URL.canParse(text) || /[\s\\#\p{Cc}]/u.test(text)) return false
  const { protocol, username, password, hostname } = new URL(text)
  if (username !== '' || password !== '' || /^[a-z]+:\/\/[^/?]*@/i.test(text)) return false
  if (protocol === 'https:') return true
  return development && protocol === 'http:' && isLoopback(hostname)
}

/** Names are no addresses: `localhost` resolves to whatever a machine says. */
const isLoopback = (host: string): boolean => (isIP(host) === 4 && host.startsWith('127.')) || host === '[::1]'
