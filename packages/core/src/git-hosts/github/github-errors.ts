import type { Clock } from '@berth/platform/kit/clock.ts'
import { pauseUntilMs, retryAfterMs } from '@berth/platform/kit/retry-after.ts'
import { RequestError } from 'octokit'
import { GitHostError, type GitHostErrorKind } from '../git-host.ts'

/** Shortest pause before a host that asks for one is asked again. */
const LEAST_PAUSE_MS = 1000

/** Returns the error that an answer of the host means for the caller. The host's words go no further than the log. */
export function toHostError(error: unknown, clock: Clock): GitHostError {
  if (error instanceof GitHostError) return error
  if (!(error instanceof RequestError) || error.response === undefined)
    return new GitHostError('unavailable', 'the host did not answer', { cause: error })
  const retryAfterMs = retryAfterOf(error, clock)
  const kind = kindOf(error, retryAfterMs !== undefined)
  const passing = kind === 'rate_limited' || kind === 'unavailable'
  return new GitHostError(kind, `the host answered ${error.status}`, {
    cause: error,
    ...(passing && retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/**
 * Returns an answer if it is whole. If the connection breaks in the middle, or a proxy answers in another format, the
 * client returns text instead of an object and reports success.
 * @throws GitHostError `unavailable`
 */
export function wholeOf<Body>(data: Body): Body {
  if (typeof data === 'object' && data !== null && !(data instanceof ArrayBuffer)) return data
  throw new GitHostError('unavailable', 'the host did not finish its answer')
}

/** Returns true if the words of the host's answer match. */
export function matches({ cause }: GitHostError, pattern: RegExp): boolean {
  const data = cause instanceof RequestError ? cause.response?.data : undefined
  return pattern.test(JSON.stringify(data ?? ''))
}

function kindOf({ status, response, message }: RequestError, asksForTime: boolean): GitHostErrorKind {
  switch (status) {
    case 401:
      return 'unauthorized'
    case 403: {
      // A secondary limit may show in words alone.
      const limited = response?.headers['x-ratelimit-remaining'] === '0' || /rate limit/i.test(message)
      return asksForTime || limited ? 'rate_limited' : 'forbidden'
    }
    case 429:
      return 'rate_limited'
    case 404:
    case 410:
      return 'not_found'
    case 451:
      return 'forbidden'
    case 405:
      // A strategy that the repository does not allow will not be taken later either.
      return /are not allowed on this repository/i.test(message) ? 'invalid' : 'not_mergeable'
    case 409:
      return 'conflict'
    default:
      return status >= 400 && status < 500 && status !== 408 ? 'invalid' : 'unavailable'
  }
}

/**
 * Returns the pause that the host asks for, in milliseconds: `Retry-After`, else until the rate limit is over.
 */
function retryAfterOf({ response, status }: RequestError, clock: Clock): number | undefined {
  const headers = response?.headers ?? {}
  const reset = Number(headers['x-ratelimit-reset'])
  const spent = headers['x-ratelimit-remaining'] === '0' && (status === 403 || status === 429)
  const untilReset = spent && reset > 0 ? pauseUntilMs(reset * 1000, headers, clock) : undefined
  const ms = headers['retry-after'] === undefined ? untilReset : retryAfterMs(headers, clock)
  return ms === undefined ? undefined : Math.max(ms, LEAST_PAUSE_MS)
}
