import { type WebhookError, webhookLimits } from '@berth/contract'

/** The end of an attempt: a response, or the reason why there was none. */
export type Outcome =
  | { readonly status: number; readonly error?: undefined }
  | { readonly error: WebhookError; readonly status?: undefined }

/** An attempt as the delivery's row and its log tell it. */
export type Attempt = Outcome & {
  /** ISO 8601. */
  readonly at: string
  readonly durationMs: number
}

/** What an attempt makes of its delivery. */
export interface Settled {
  readonly status: 'pending' | 'succeeded' | 'failed'
  readonly tries: number
  /** Time of the next attempt; null if there is none. */
  readonly dueAt: Date | null
}

/** Pauses from the end of an attempt to the beginning of the next, in seconds. */
const pauses = [60, 120, 240, 480, 960]

export const isSuccess = ({ status }: Outcome): boolean => status !== undefined && status >= 200 && status <= 299

/**
 * Decides what follows an attempt. Any 2xx is a success; everything else is tried again, up to six attempts in all. An
 * installation that may not receive any more has failed for good.
 * @param tries attempts that count, without this one
 */
export function settle(tries: number, outcome: Outcome, endedAt: Date): Settled {
  if (isSuccess(outcome)) return { status: 'succeeded', tries: tries + 1, dueAt: null }
  if (outcome.error === 'authority') return { status: 'failed', tries, dueAt: null }
  const pause = tries + 1 < webhookLimits.attempts ? pauses[tries] : undefined
  if (pause === undefined) return { status: 'failed', tries: tries + 1, dueAt: null }
  return { status: 'pending', tries: tries + 1, dueAt: new Date(endedAt.getTime() + pause * 1000) }
}
