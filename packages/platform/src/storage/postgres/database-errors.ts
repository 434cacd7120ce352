/**
 * The database is away, stopping, frozen, too slow or out of room. The caller may try again later; HTTP answers 503.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
  /**
   * True if the connection was lost during the commit. The transaction may or may not have happened, so only an
   * idempotent command may be repeated.
   */
  readonly outcomeUnknown: boolean

  constructor(cause: unknown, options: { outcomeUnknown?: boolean } = {}) {
    super(`database unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.outcomeUnknown = options.outcomeUnknown ?? false
  }
}

/** System errors of a socket or a name lookup when the server cannot be reached. */
const systemCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOENT',
  'ENOTSOCK',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAGAIN',
])

/** SQLSTATEs, or their two-letter classes, that blame the server and not the statement. */
const sqlStates = new Set([
  '08', // connection exceptions
  '53', // out of connections, memory or disk
  '57P01', // admin shutdown
  '57P02', // crash shutdown
  '57P03', // cannot connect now: starting, recovering
  '57P05', // idle session timeout
  '57014', // statement timeout
  '55P03', // lock timeout
  '25P03', // idle in transaction timeout
  '25P04', // transaction timeout
  '25006', // read-only: a primary that became a standby
  '58', // I/O errors
])

/** Errors of the driver itself, which carry no code. */
const driverMessages = [
  /^Connection terminated/,
  /^timeout exceeded when trying to connect/,
  /^timeout expired/,
  /^Query read timeout/,
  /connection error and is not queryable/,
  /was closed and is not queryable/,
  /^Cannot use a pool after calling end/,
]

/** Returns true if an error of the driver blames the database and not the statement. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string') {
    const { code } = error
    return systemCodes.has(code) || sqlStates.has(code) || (code.length === 5 && sqlStates.has(code.slice(0, 2)))
  }
  return driverMessages.some(pattern => pattern.test(error.message))
}
