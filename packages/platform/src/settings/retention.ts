import type { Environment } from './environment.ts'

const DAY_MS = 86_400_000

/** How long the service keeps what nobody uses any more. */
export interface RetentionSettings {
  /** Time after its archiving for which a Session is kept; null: for ever. */
  readonly archivedMs: number | null
  /** Time after its archiving for which the log of a Session stays in the database; null: as long as the Session. */
  readonly logMs: number | null
  /** Time for which each request to a model is kept by itself, before it is summed up; null: for ever. */
  readonly requestsMs: number | null
}

/** Reads how long things are kept. */
export function readRetention(env: Environment): RetentionSettings {
  // The function that deletes a log lets nothing go that was archived less than a day ago.
  const days = env.integer(
    'BERTH_ARCHIVED_SESSION_DAYS',
    0,
    'Days after its archiving that a Session is deleted with its log, files and checkpoints. 0 keeps it for ever. Set it if data must not be kept for ever.',
    { least: 0, most: 36_500 },
  )
  const logDays = env.integer(
    'BERTH_ARCHIVED_LOG_DAYS',
    7,
    'Days after its archiving that the log of a Session moves from the database into the blob store, where it stays readable. 0 leaves it in the database. Lower it if the database grows too large.',
    { least: 0, most: 36_500 },
  )
  const requestDays = env.integer(
    'BERTH_GATEWAY_REQUEST_DAYS',
    90,
    'Days for which each request to a model is kept by itself; afterwards only the sums of a day stay. 0 keeps it for ever. Lower it if the database grows too large.',
    { least: 0, most: 36_500 },
  )
  const toMs = (count: number) => (count === 0 ? null : count * DAY_MS)
  return { archivedMs: toMs(days), logMs: toMs(logDays), requestsMs: toMs(requestDays) }
}
