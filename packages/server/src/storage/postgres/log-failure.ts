import type { Log } from '../../kit/log.ts'
import { DatabaseUnavailable } from './database-errors.ts'

/** Logs why background work failed: a warning with `waiting` while the database is away, else an error with `failed`. */
export function logFailure(
  log: Log,
  err: unknown,
  messages: { readonly waiting: string; readonly failed: string },
): void {
  if (err instanceof DatabaseUnavailable) log.warn({ err }, messages.waiting)
  else log.error({ err }, messages.failed)
}
