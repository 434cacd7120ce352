import type { Environment } from './environment.ts'

const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9](?::\d{1,5})?$/i

/** Settings of the console. */
export interface ConsoleSettings {
  /** How long a browser's session lives without a request. */
  readonly idleMs: number
  /** How long a browser's session lives at most. */
  readonly sessionMs: number
  /** Host below which previews are served, with a port if it is not 443. */
  readonly previewDomain: string | undefined
}

/** Reads the settings of the console. */
export function readConsole(env: Environment): ConsoleSettings {
  return {
    idleMs: env.duration(
      'BERTH_CONSOLE_IDLE_SECONDS',
      12 * 3600,
      'Seconds without a request after which a browser has to sign in to the console again. Lower it if browsers are shared.',
    ),
    sessionMs: env.duration(
      'BERTH_CONSOLE_SESSION_SECONDS',
      7 * 86_400,
      'Seconds after which a browser has to sign in to the console again in any case. Lower it if your rules ask for it.',
    ),
    previewDomain: env.parsed(
      'BERTH_PREVIEW_DOMAIN',
      'Domain below which previews of ports, and HTML and PDF of agents, are served over https; every name below it leads to this service. Its registrable domain (example.net) must be none of another URL of the service. Set it to show previews to people on other machines.',
      'none; `localhost` on loopback',
      text => (DOMAIN.test(text) ? text.toLowerCase() : undefined),
      'a domain such as preview.example.net',
    ),
  }
}
