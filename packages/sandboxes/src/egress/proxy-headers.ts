/** Headers of one connection (RFC 9110, 7.6.1) and of the proxy itself, which are never forwarded. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Returns the headers to forward, names and order kept, from Node's flat list of names and values. It also drops the
 * headers that `Connection` names.
 */
export function forwardedHeaders(raw: readonly string[], alsoDropped: readonly string[] = []): string[] {
  const pairs = headerPairs(raw)
  const dropped = new Set([...hopByHop, ...alsoDropped])
  for (const [name, value] of pairs) {
    if (name.toLowerCase() === 'connection') for (const one of value.split(',')) dropped.add(one.trim().toLowerCase())
  }
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat()
}

/** Returns only the headers with these names, in lower case. */
export function pickedHeaders(raw: readonly string[], names: ReadonlySet<string>): string[] {
  return headerPairs(raw)
    .filter(([name]) => names.has(name.toLowerCase()))
    .flat()
}

function headerPairs(raw: readonly string[]): (readonly [name: string, value: string])[] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []))
}
