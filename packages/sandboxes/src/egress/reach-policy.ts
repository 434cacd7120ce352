/** The target of a request through the proxy. A tunnel (`CONNECT`) hides its scheme. */
export interface ProxyTarget {
  readonly scheme: 'http' | 'tunnel'
  /** In the URL standard's form: lower case, IPv4 in dotted form, IPv6 in brackets. */
  readonly host: string
  readonly port: number
}

/**
 * A policy's verdict on a target, before any name is resolved. A `named` host is resolved by this machine. A `public`
 * name is resolved by DNS, and dialled if `mayDial` accepts every answer. An `address` has already been checked.
 */
export type ProxyVerdict =
  | { readonly kind: 'allow'; readonly how: 'named' }
  | { readonly kind: 'allow'; readonly how: 'public'; readonly name: string; mayDial(address: string): boolean }
  | { readonly kind: 'allow'; readonly how: 'address'; readonly address: string }
  | { readonly kind: 'deny'; readonly reason: string }

export type ProxyPolicy = (target: ProxyTarget) => ProxyVerdict

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/**
 * Allows exactly the operator's origins, whatever their addresses, loopback included. A tunnel may reach the host and
 * port of any of them, a plain request only an `http` one.
 * @throws TypeError if an entry is not an origin
 */
export function createReachPolicy(reach: readonly string[]): ProxyPolicy {
  const plain = new Set<string>()
  const any = new Set<string>()
  for (const origin of reach) {
    const { protocol, host, port } = parseOrigin(origin)
    any.add(`${host}:${port}`)
    if (protocol === 'http:') plain.add(`${host}:${port}`)
  }
  return ({ scheme, host, port }) =>
    (scheme === 'http' ? plain : any).has(`${host}:${port}`)
      ? { kind: 'allow', how: 'named' }
      : { kind: 'deny', reason: `this sandbox may not reach ${host}:${port}` }
}

function parseOrigin(origin: string): { readonly protocol: string; readonly host: string; readonly port: number } {
  const url = URL.parse(origin)
  const port = url && (url.port === '' ? defaultPorts[url.protocol] : Number(url.port))
  const bare =
    url?.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  if (!url || !bare || port === undefined || port === null) {
    throw new TypeError(`not an http or https origin: ${JSON.stringify(origin)}`)
  }
  return { protocol: url.protocol, host: url.hostname, port }
}

/** Returns the target of a `CONNECT`; undefined unless it is `host:port`. */
export function tunnelTarget(authority: string): ProxyTarget | undefined {
  const port = /:(\d{1,5})$/.exec(authority)?.[1]
  const url = URL.parse(`http://${authority}`)
  if (port === undefined || !url || !/^[^/?#@\\\s]+$/.test(authority) || url.hostname === '') return undefined
  return validPort({ scheme: 'tunnel', host: url.hostname, port: Number(port) })
}

/** Returns target and path of a request whose line holds a complete `http` URL; undefined for every other form. */
export function plainTarget(line: string): { readonly target: ProxyTarget; readonly path: string } | undefined {
  if (!/^http:\/\//i.test(line)) return undefined
  const url = URL.parse(line)
  if (!url || url.hostname === '' || url.username !== '' || url.password !== '') return undefined
  const target = validPort({ scheme: 'http', host: url.hostname, port: url.port === '' ? 80 : Number(url.port) })
  return target && { target, path: `${url.pathname}${url.search}` }
}

function validPort(target: ProxyTarget): ProxyTarget | undefined {
  return target.port >= 1 && target.port <= 65_535 ? target : undefined
}
