/**
 * The database is away, ending, frozen, too slow or out of room. The request may be tried again later; HTTP answers 503.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
  /**
   * True when the connection was lost while committing: the transaction may or may not have happened, and only a command
   * that is idempotent may simply be repeated.
   */
  readonly outcomeUnknown: boolean

  constructor(cause: unknown, options: { outcomeUnknown?: boolean } = {}) {
    super(`database unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.outcomeUnknown = options.outcomeUnknown ?? false
  }
}

/** System errors of a socket to a server that is not there, and of the name that leads to it. */
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

/** SQLSTATEs, or their two-letter classes, that say nothing about the statement and all about the server. */
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

/** The driver's own errors, which carry no code. */
const driverMessages = [
  /^Connection terminated/,
  /^timeout exceeded when trying to connect/,
  /^timeout expired/,
  /^Query read timeout/,
  /connection error and is not queryable/,
  /was closed and is not queryable/,
  /^Cannot use a pool after calling end/,
]

/** Whether an error of the driver means that the database, rather than the statement, is at fault. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string') {
    const { code } = error
    return systemCodes.has(code) || sqlStates.has(code) || (code.length === 5 && sqlStates.has(code.slice(0, 2)))
  }
  return driverMessages.some(pattern => pattern.test(error.message))
}
