import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'
import { originOf, parseWebUrl } from './web-url.ts'

/** Where a worker passes connections of other processes on to its sandboxes. */
export interface RelaySettings {
  /** Undefined: it passes none on. With 0 the system chooses a port. */
  readonly port: number | undefined
  /** What the other processes dial; undefined: the port on the listener's host. */
  readonly url: string | undefined
}

export function readRelay(env: Environment): RelaySettings {
  return {
    port: env.parsed(
      'BERTH_RELAY_PORT',
      'Port at which a worker passes connections on to its sandboxes, for the terminals and previews of API processes elsewhere; 0 takes a free one. Open it to these processes alone. Set it if APIs and workers run on several machines.',
      'none',
      text => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
      'a port',
    ),
    url: env.parsed(
      'BERTH_RELAY_URL',
      'URL at which API processes reach `BERTH_RELAY_PORT` of this worker. Set it with `BERTH_RELAY_PORT`, unless `BERTH_HOST` is that address.',
      '`BERTH_HOST` and the port',
      parseWebUrl,
      'an http or https URL without query',
    ),
  }
}

/** Returns the URL that other processes dial, for the port that the relay got. */
export const relayUrlOn = ({ url }: RelaySettings, host: string, port: number): string => url ?? originOf(host, port)

/** @throws StartError if a relay says of no address where it is */
export function requireRelayAddress({ port, url }: RelaySettings, host: string): void {
  if (port === undefined || url !== undefined || !['0.0.0.0', '::', '[::]'].includes(host)) return
  throw new StartError('BERTH_RELAY_PORT is set: set BERTH_RELAY_URL to where API processes reach it on this machine')
}
