import { dialRule } from '@berth/platform/network/dial-rule.ts'
import { type PublicHost, readPublicHost } from '@berth/platform/network/public-name.ts'

const LONGEST_URL = 2048

/** Where webhooks may be sent. */
export interface WebhookRules {
  /** Ports of public hosts. */
  readonly ports: readonly number[]
  /** Origins that are let through as they are. */
  readonly allow: readonly string[]
  /** Returns whether an address may be dialled. */
  readonly mayDial: (address: string) => boolean
}

/** A URL that may be sent to, as far as it tells by itself. */
export interface WebhookUrl {
  readonly url: URL
  /** `trusted` if the operator named the origin: its addresses are not judged. */
  readonly host: Exclude<PublicHost, { kind: 'private' }> | { readonly kind: 'trusted'; readonly name: string }
}

/**
 * Makes the rules from settings.
 * @param isRefused tells addresses that stay closed although they are public
 * @param ownAddresses as in `dialRule`
 */
export function webhookRules(
  { ports, allow }: Pick<WebhookRules, 'ports' | 'allow'>,
  isRefused: (address: string) => boolean,
  ownAddresses?: () => ReadonlySet<string>,
): WebhookRules {
  return { ports, allow, mayDial: dialRule(isRefused, ownAddresses) }
}

/**
 * Reads the URL of an endpoint. The URL parser removes every other spelling of a host, so a name that is left is a name,
 * and an address is judged as the address that would be dialled.
 * @returns null if webhooks may not be sent there
 */
export function readWebhookUrl(text: string, { ports, allow, mayDial }: WebhookRules): WebhookUrl | null {
  // The parser drops tabs and line breaks and reads backslashes as slashes; whoever sends those means to confuse.
  if ([...text].length > LONGEST_URL || /[\s\\#\p{Cc}]/u.test(text) || !URL.canParse(text)) return null
  if (/^[a-z][a-z0-9+.-]*:\/*[^/?]*@/i.test(text)) return null
  const url = new URL(text)
  if (allow.includes(url.origin))
    return { url, host: { kind: 'trusted', name: url.hostname.replace(/^\[(.*)\]$/, '$1') } }
  if (url.protocol !== 'https:' || !ports.includes(url.port === '' ? 443 : Number(url.port))) return null
  const host = readPublicHost(url.hostname)
  if (host.kind === 'private' || (host.kind === 'address' && !mayDial(host.address))) return null
  return { url, host }
}

/** Returns the host of a URL as a certificate names it. */
export const nameOf = ({ host }: WebhookUrl): string => (host.kind === 'address' ? host.address : host.name)
