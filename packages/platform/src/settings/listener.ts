import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Environment } from './environment.ts'
import { isLoopback, originOf, parseWebUrl } from './web-url.ts'

/** Address at which the service listens. */
export interface ListenerSettings {
  readonly host: string
  /** With 0 the system chooses a port. */
  readonly port: number
  /** True if no other machine can reach the listener. Only then does the service make a development tenant. */
  readonly loopback: boolean
}

/** The URLs at which clients, people and workers reach the service. */
export interface UrlSettings {
  readonly baseUrl: string
  readonly authUrl: string
  readonly consoleUrl: string
  /** URL to which workers forward the gateway requests of their sandboxes. */
  readonly gatewayUrl: string
}

/** Facts that the HTTP service publishes about itself, and the proxies that it trusts to report a client's address. */
export interface HttpSettings {
  readonly release: string | undefined
  /** Addresses and ranges of reverse proxies. */
  readonly trustedProxies: readonly string[]
}

export function readListener(env: Environment): ListenerSettings {
  const host =
    env.text(
      'BERTH_HOST',
      'Address that the service listens on. Set it to `0.0.0.0` if a proxy or another machine reaches the service.',
      '127.0.0.1',
      'an address',
    ) ?? '127.0.0.1'
  const port = env.integer(
    'BERTH_PORT',
    4100,
    'Port that the service listens on; 0 takes a free one. Change it if something else has the port.',
    {
      least: 0,
      most: 65_535,
    },
  )
  return { host, port, loopback: isLoopback(host) }
}

export function readAuthUrl(env: Environment, listener: ListenerSettings): string {
  return readUrl(
    env,
    listener,
    'BERTH_AUTH_URL',
    'URL at which clients reach the account service and the gateway. Set it if clients reach the service at another address than its own.',
  )
}

/** Reads the other URLs. By default, workers look for the gateway at the same URL as clients. */
export function readUrls(env: Environment, listener: ListenerSettings, authUrl: string): UrlSettings {
  return {
    authUrl,
    baseUrl: readUrl(
      env,
      listener,
      'BERTH_BASE_URL',
      'URL at which clients reach the API. Set it if clients reach the service at another address than its own.',
    ),
    consoleUrl: readUrl(
      env,
      listener,
      'BERTH_CONSOLE_URL',
      'URL of the console: `sessionUrl` and the pull requests of local repositories begin with it. Set it if people reach the service at another address than its own.',
    ),
    gatewayUrl: readUrl(
      env,
      listener,
      'BERTH_GATEWAY_URL',
      'URL at which workers reach the gateway for their sandboxes. A worker checks it at its start. Set it to an address of the inner network, so that requests to models stay there.',
      { url: authUrl, label: '`BERTH_AUTH_URL`' },
    ),
  }
}

/** Returns the URLs for the port that the listener got: those on the listener's origin move with it. */
export function urlsOn(urls: UrlSettings, { host, port: before }: ListenerSettings, port: number): UrlSettings {
  const move = (url: string): string => (url === originOf(host, before) ? originOf(host, port) : url)
  return {
    baseUrl: move(urls.baseUrl),
    authUrl: move(urls.authUrl),
    consoleUrl: move(urls.consoleUrl),
    gatewayUrl: move(urls.gatewayUrl),
  }
}

export function readHttp(env: Environment): HttpSettings {
  return {
    release: env.text(
      'BERTH_RELEASE',
      'Value of `info.x-svc-release` in the OpenAPI document. Set it to tell releases of your own apart.',
      'absent',
    ),
    trustedProxies:
      env.parsed(
        'BERTH_TRUSTED_PROXIES',
        "Addresses and ranges of proxies in front of the service, separated by commas. The client's address is the last one in `X-Forwarded-For` that is not a proxy's. Set it behind a proxy, or all clients share one rate.",
        'none',
        parseRanges,
        'a list of IP addresses and ranges (10.0.0.0/8)',
      ) ?? [],
  }
}

function readUrl(
  env: Environment,
  { host, port }: ListenerSettings,
  name: string,
  meaning: string,
  fallback: { readonly url: string; readonly label: string } = {
    url: originOf(host, port),
    label: "the listener's origin",
  },
): string {
  return env.parsed(name, meaning, fallback.label, parseWebUrl, 'an http or https URL without query') ?? fallback.url
}

/** Parses IP addresses and ranges separated by commas; returns undefined if any of them is neither. */
function parseRanges(text: string): readonly string[] | undefined {
  const ranges = text.split(',').map(range => range.trim())
  return ranges.every(range => isIP(range) !== 0 || ipaddr.isValidCIDR(range)) ? ranges : undefined
}
