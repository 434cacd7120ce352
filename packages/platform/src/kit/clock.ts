/** The service's clock, injected so that tests can set the time. */
export interface Clock {
  now(): Date
}

/**
 * This machine's clock. It dates files of this machine; every time that others have stored is compared with the database's
 * (`platform/storage/postgres/database-clock.ts`).
 */
export const systemClock: Clock = { now: () => new Date() }
