import type { Environment } from './environment.ts'

/** Settings of the console. */
export interface ConsoleSettings {
  /** How long a browser's session lives without a request. */
  readonly idleMs: number
  /** How long a browser's session lives at most. */
  readonly sessionMs: number
}

/** Reads the settings of the console. */
export function readConsole(env: Environment): ConsoleSettings {
  return {
    idleMs: env.duration(
      'BERTH_CONSOLE_IDLE_SECONDS',
      12 * 3600,
      'Seconds without a request after which a browser has to sign in to the console again.',
    ),
    sessionMs: env.duration(
      'BERTH_CONSOLE_SESSION_SECONDS',
      7 * 86_400,
      'Seconds after which a browser has to sign in to the console again in any case.',
    ),
  }
}
