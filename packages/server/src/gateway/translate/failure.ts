import { APICallError, InvalidArgumentError, InvalidPromptError, UnsupportedFunctionalityError } from '@ai-sdk/provider'
import { knownSecrets } from '../../secrets.ts'
import { UpstreamError } from '../upstream.ts'
import { upstreamCode, upstreamError } from '../upstream-status.ts'
import { isObject } from './json.ts'
import { refuse } from './refuse.ts'

const wordsAtMost = 1000

/** A failure of a provider or of its package, as the gateway tells it. */
export function toFailure(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  if (UnsupportedFunctionalityError.isInstance(error)) {
    return refuse('input', `The model does not take ${error.functionality}.`, error)
  }
  if (InvalidPromptError.isInstance(error) || InvalidArgumentError.isInstance(error)) {
    return refuse('input', clean(error.message), error)
  }
  const { status, words, retryAfterSeconds } = describe(error)
  if (status !== undefined) {
    return upstreamError(upstreamCode(status), { words: clean(words), retryAfterSeconds, cause: error })
  }
  if (APICallError.isInstance(error) || isConnectionError(error)) {
    return upstreamError(isCut(error) ? 'upstream_cut' : 'upstream_unreachable', { cause: error })
  }
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) {
    return upstreamError('upstream_timeout', { cause: error })
  }
  return upstreamError('upstream_failed', { words: clean(words), cause: error })
}

interface Description {
  readonly status: number | undefined
  readonly words: string
  readonly retryAfterSeconds?: number | undefined
}

/** Kinds of error that Anthropic names in a stream, where no status tells. */
const statuses: Readonly<Record<string, number>> = {
  authentication_error: 401,
  billing_error: 402,
  invalid_request_error: 400,
  not_found_error: 404,
  overloaded_error: 529,
  permission_error: 403,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  request_too_large: 413,
  timeout_error: 504,
}

function describe(error: unknown): Description {
  if (APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode >= 400) {
    return { status: error.statusCode, words: error.message, retryAfterSeconds: retryAfter(error.responseHeaders) }
  }
  if (typeof error === 'string') return { status: undefined, words: error }
  if (!isObject(error)) return { status: undefined, words: '' }
  const { message, type, code, statusCode, status } = error
  const told = [statusCode, status, code].find(value => typeof value === 'number' && value >= 400 && value < 600)
  return {
    status: typeof told === 'number' ? told : (statuses[String(type)] ?? statuses[String(code)]),
    words: typeof message === 'string' ? message : '',
  }
}

function retryAfter(headers: Readonly<Record<string, string>> | undefined): number | undefined {
  const value = headers?.['retry-after']
  if (value === undefined) return undefined
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1000)
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}

const isConnectionError = (error: unknown) => error instanceof TypeError && error.cause !== undefined
/** `terminated` is what a body says whose connection broke. */
const isCut = (error: unknown) => error instanceof Error && /terminated|other side closed|aborted/i.test(error.message)

/** What a provider said may repeat what it was sent. */
function clean(words: string): string {
  return knownSecrets.cutText(words.slice(0, wordsAtMost))
}
