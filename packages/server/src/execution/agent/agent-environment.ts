import { PROXY_PORT } from '@berth/supervisor'

const proxy = `http://127.0.0.1:${PROXY_PORT}`

/** Names of the sandbox's own loopback, for which clients bypass the proxy. */
const ownNames = ['localhost', '127.0.0.1', '::1'] as const

/** Returns the environment of every agent; the sandbox's proxy is its only route to a network. */
export function agentEnvironment(reach: readonly string[]): Readonly<Record<string, string>> {
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
  }
}

/**
 * Returns the names that bypass the proxy. A loopback endpoint under `reach` belongs to the service, and only the proxy
 * reaches it, so its name must not bypass the proxy. The exception is by name, since most clients read no port in
 * `NO_PROXY`.
 */
function directNames(reach: readonly string[]): string {
  const proxied = new Set(reach.map(origin => URL.parse(origin)?.hostname.replace(/^\[(.*)\]$/, '$1')))
  return ownNames.filter(name => !proxied.has(name)).join(',')
}
