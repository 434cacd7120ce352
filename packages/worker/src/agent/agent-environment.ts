import { trustPaths } from '@berth/sandboxes/inside-paths.ts'
import { PROXY_PORT } from '@berth/supervisor'

/** What an environment adds to the variables of its sandboxes' processes. */
export interface AddedVariables {
  readonly variables: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
  /** What setup exported; empty before it has ended. */
  readonly exported: Readonly<Record<string, string>>
  /** Directories that setup put in front of the search path, the last first. */
  readonly path: readonly string[]
  /** Whether the sandbox trusts an authority of its own; absent: it does not. */
  readonly hasAuthority?: boolean
  /** Names of the secrets that setup does not get; absent: it gets all. */
  readonly outsideSetup?: readonly string[]
}

/** In front of every search path that an environment may set. */
const platformPath = '/opt/berth:/home/agent/.local/bin'

const proxy = `http://127.0.0.1:${PROXY_PORT}`

/** Names of the sandbox's own loopback, for which clients bypass the proxy. */
const ownNames = ['localhost', '127.0.0.1', '::1'] as const

/**
 * Returns the environment of every agent; the sandbox's proxy is its only route to a network.
 * @param hasAuthority whether the sandbox trusts an authority of its own, which programs then have to know
 */
export function agentEnvironment(reach: readonly string[], hasAuthority = false): Readonly<Record<string, string>> {
  const direct = directNames(reach)
  return {
    PATH: '/opt/berth:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/home/agent',
    USER: 'agent',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    http_proxy: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: '1',
    // Yarn from version 2 on reads no other variables for its proxy.
    YARN_HTTP_PROXY: proxy,
    YARN_HTTPS_PROXY: proxy,
    JAVA_TOOL_OPTIONS: [javaOptions(direct), ...(hasAuthority ? [javaTrust] : [])].join(' '),
    ...(hasAuthority && trustVariables),
  }
}

/**
 * Where programs look for authorities. No variable is enough for all of them, and each names the whole of what the sandbox
 * trusts: some programs read nothing besides.
 */
const trustVariables = {
  SSL_CERT_FILE: trustPaths.bundle,
  SSL_CERT_DIR: `${trustPaths.certificates}:/etc/ssl/certs`,
  NODE_EXTRA_CA_CERTS: trustPaths.bundle,
  REQUESTS_CA_BUNDLE: trustPaths.bundle,
  CURL_CA_BUNDLE: trustPaths.bundle,
  GIT_SSL_CAINFO: trustPaths.bundle,
  AWS_CA_BUNDLE: trustPaths.bundle,
  PIP_CERT: trustPaths.bundle,
  DENO_CERT: trustPaths.bundle,
} as const

/** Java reads no variable, and no file of another form. */
const javaTrust = `-Djavax.net.ssl.trustStore=${trustPaths.java} -Djavax.net.ssl.trustStoreType=JKS`

/**
 * Returns the environment of setup, and of every agent, in a sandbox that an environment sets up. Later members win:
 * the platform's, variables, secrets, what setup exported.
 */
export function environmentWith(
  reach: readonly string[],
  { variables, secrets, exported, path, hasAuthority }: AddedVariables,
): Readonly<Record<string, string>> {
  const platform = agentEnvironment(reach, hasAuthority)
  const all = { ...platform, ...variables, ...secrets, ...exported }
  const java = withJavaOptions(platform['JAVA_TOOL_OPTIONS'] ?? '', all['JAVA_TOOL_OPTIONS'] ?? '')
  return { ...all, PATH: [platformPath, ...path, all['PATH']].join(':'), JAVA_TOOL_OPTIONS: java }
}

/** Returns what an environment adds to the variables of its setup. */
export function setupVariables(added: AddedVariables): AddedVariables {
  const { outsideSetup = [], secrets } = added
  return {
    ...added,
    secrets: Object.fromEntries(Object.entries(secrets).filter(([name]) => !outsideSetup.includes(name))),
  }
}

/**
 * Returns the options that lead Java to the proxy: it reads no variable for that. The last two have Maven's transports
 * of 3.9 and 4 read the others, as its older one does.
 */
function javaOptions(direct: string): string {
  const names = direct.split(',').map(name => (name === '::1' ? '[::1]' : name))
  return [
    ...['http', 'https'].flatMap(scheme => [`-D${scheme}.proxyHost=127.0.0.1`, `-D${scheme}.proxyPort=${PROXY_PORT}`]),
    `-Dhttp.nonProxyHosts=${names.join('|')}`,
    '-Daether.connector.http.useSystemProperties=true',
    '-Daether.transport.apache.useSystemProperties=true',
  ].join(' ')
}

/** Puts the platform's options in front of those that an environment sets: the later of two wins. */
const withJavaOptions = (platform: string, own: string) => (own.includes(platform) ? own : `${platform} ${own}`)

/**
 * Returns the names that bypass the proxy. A loopback endpoint under `reach` belongs to the service, and only the proxy
 * reaches it, so its name must not bypass the proxy. The exception is by name, since most clients read no port in
 * `NO_PROXY`.
 */
function directNames(reach: readonly string[]): string {
  const proxied = new Set(reach.map(origin => URL.parse(origin)?.hostname.replace(/^\[(.*)\]$/, '$1')))
  return ownNames.filter(name => !proxied.has(name)).join(',')
}
