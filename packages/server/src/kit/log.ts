import type { BaseLogger } from 'pino'

/** What storage says while it runs: a pino logger, or a test's stand-in. */
export type Log = Pick<BaseLogger, 'info' | 'warn' | 'error'>
