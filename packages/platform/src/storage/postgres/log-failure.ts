import type { Log } from '../../kit/log.ts'
import { DatabaseUnavailable } from './database-errors.ts'

/** Logs a failure of background work: the warning `waiting` if the database is unavailable, else the error `failed`. */
export function logFailure(
  log: Log,
  err: unknown,
  messages: { readonly waiting: string; readonly failed: string },
): void {
  if (err instanceof DatabaseUnavailable) log.warn({ err }, messages.waiting)
  else log.error({ err }, messages.failed)
}
