/** Headers that concern one connection and never travel on (RFC 9110, 7.6.1), and the proxy's own. */
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
 * Headers to send on, names and order kept, from Node's flat list of names and values. Those that `Connection` names
 * stay behind too.
 */
export function forwardedHeaders(raw: readonly string[], alsoDropped: readonly string[] = []): string[] {
  const pairs = headerPairs(raw)
  const dropped = new Set([...hopByHop, ...alsoDropped])
  for (const [name, value] of pairs) {
    if (name.toLowerCase() === 'connection') for (const one of value.split(',')) dropped.add(one.trim().toLowerCase())
  }
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat()
}

/** Only the headers of these names, in lower case. */
export function pickedHeaders(raw: readonly string[], names: ReadonlySet<string>): string[] {
  return headerPairs(raw)
    .filter(([name]) => names.has(name.toLowerCase()))
    .flat()
}

function headerPairs(raw: readonly string[]): (readonly [name: string, value: string])[] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []))
}
