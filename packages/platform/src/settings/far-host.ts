import { hostLimits, isHostPool, parseHostLabels } from '@berth/contract'
import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'
import { parseWebUrl } from './web-url.ts'

/** Settings of `berth host`: this machine holds sandboxes for a service that it dials. */
export interface FarHostSettings {
  /** Undefined: this process serves no other one. */
  readonly url: string | undefined
  readonly token: string | undefined
  readonly tokenFile: string | undefined
  readonly capacity: number
  readonly pool: string | undefined
  readonly labels: Readonly<Record<string, string>>
}

/** Reads the port at which a worker takes hosts; undefined if it takes none. */
export function readHostsPort(env: Environment): number | undefined {
  return env.parsed(
    'BERTH_HOSTS_PORT',
    'Port at which a worker takes machines that run `berth host`; 0 takes a free one. Put TLS in front of it. Set it to let other machines hold sandboxes.',
    'none',
    text => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
    'a port',
  )
}

export function readFarHost(env: Environment): FarHostSettings {
  return {
    url: env.parsed(
      'BERTH_HOST_URL',
      'URL of the service that `berth host` dials. Set it on each machine that runs `berth host`.',
      'none',
      parseWebUrl,
      'an http or https URL without query',
    ),
    token: env.text(
      'BERTH_HOST_TOKEN',
      'Token of this host, as the service issued it. Set it on each machine that runs `berth host`.',
      'none',
      '16 visible ASCII characters or more',
    ),
    tokenFile: env.text(
      'BERTH_HOST_TOKEN_FILE',
      'File that holds the token of this host; it is read again for each dial. Set it if the token changes while the host runs.',
      'none',
      'a path',
    ),
    capacity: env.integer(
      'BERTH_HOST_CAPACITY',
      4,
      'Sandboxes that this host holds at most. Raise it on a large machine: each sandbox needs its memory.',
      {
        most: hostLimits.capacity,
      },
    ),
    pool: env.parsed(
      'BERTH_HOST_POOL',
      'Pool that the token of this host must be for. Set it so that a token of another pool is refused.',
      'any',
      text => (isHostPool(text) ? text : undefined),
      'lower-case letters, digits and hyphens',
    ),
    labels:
      env.parsed(
        'BERTH_HOST_LABELS',
        'Labels of this host, `name=value` with commas between. Set it to tell hosts apart in `berth hosts list` and the console.',
        'none',
        text => parseHostLabels(text.split(',')),
        'labels (name=value,name=value)',
      ) ?? {},
  }
}

/**
 * Returns the token, from the variable or its file.
 * @throws StartError if there is none
 */
export function hostTokenOf(
  { token, tokenFile }: FarHostSettings,
  readFile: (path: string) => string | undefined,
): string {
  const found = (token ?? (tokenFile === undefined ? undefined : readFile(tokenFile)))?.trim() ?? ''
  // A header carries it.
  if (!/^[\x21-\x7e]{16,4096}$/.test(found)) {
    throw new StartError('this host needs its token: set BERTH_HOST_TOKEN or BERTH_HOST_TOKEN_FILE')
  }
  return found
}
