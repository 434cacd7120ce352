import type { BaseLogger } from 'pino'

/** The service's logger: pino's, or a test's substitute. */
export type Log = Pick<BaseLogger, 'info' | 'warn' | 'error'>
