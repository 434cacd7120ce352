/** Returns a link that may be followed; '' for every scheme but http, https and mailto. */
export function safeUrl(url: string): string {
  const trimmed = url.trim()
  return /^(?:https?:\/\/|mailto:)/i.test(trimmed) ? trimmed : ''
}
