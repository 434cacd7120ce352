import type { Environment } from './environment.ts'

const DAY_MS = 86_400_000

/** How long the service keeps what nobody uses any more. */
export interface RetentionSettings {
  /** Time after its archiving for which a Session is kept; null: for ever. */
  readonly archivedMs: number | null
  /** Time for which each request to a model is kept by itself, before it is summed up; null: for ever. */
  readonly requestsMs: number | null
}

/** Reads how long things are kept. */
export function readRetention(env: Environment): RetentionSettings {
  // The function that deletes a log lets nothing go that was archived less than a day ago.
  const days = env.integer(
    'BERTH_ARCHIVED_SESSION_DAYS',
    0,
    'Days after its archiving that a Session is deleted with its log, files and checkpoints. 0 keeps it for ever.',
    { least: 0, most: 36_500 },
  )
  const requestDays = env.integer(
    'BERTH_GATEWAY_REQUEST_DAYS',
    90,
    'Days for which each request to a model is kept by itself; afterwards only the sums of a day stay. 0 keeps it for ever.',
    { least: 0, most: 36_500 },
  )
  return { archivedMs: days === 0 ? null : days * DAY_MS, requestsMs: requestDays === 0 ? null : requestDays * DAY_MS }
}
