/** Returns the host that a link leads to, or the address that it writes to. Its words may pretend another. */
export function linkHost(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url)
    return protocol === 'mailto:' ? pathname : host
  } catch {
    return url
  }
}

/**
 * Returns whether the words of a link already say where it leads: they are its host, or its whole URL with the host in
 * front. `https://bank.example@evil.example/` leads to the second of its hosts, so it does not say it.
 */
export function namesHost(text: string, url: string): boolean {
  const host = linkHost(url)
  if (text === host) return true
  const address = text.replace(/^(?:https?:\/\/|mailto:)/i, '')
  return text === url && address.startsWith(host) && /^(?:[/?#]|$)/.test(address.slice(host.length))
}
