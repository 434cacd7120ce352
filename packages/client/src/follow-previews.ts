import type { BerthClient } from './client.ts'
import { followLive } from './follow-live.ts'

/** What an agent is saying and doing right now. It is no part of the log. */
export interface Preview {
  readonly message?: {
    readonly messageId: string
    readonly role: 'assistant' | 'reasoning'
    /** All that was said so far. */
    readonly text: string
  }
  readonly activities: readonly {
    readonly activityId: string
    readonly name: string
    readonly kind: string
    readonly title: string
    readonly startedAt: string
  }[]
}

/**
 * Yields what the agent of a Session is saying and doing, the whole of it each time, across broken connections. Whoever
 * misses some has missed nothing that counts: the log tells it all. It ends without an error when `signal` aborts.
 *
 * @param pace how it reconnects, as `followSession` has it
 * @throws BerthError if the service refuses for good (400, 401, 403, 404)
 */
export async function* followPreviews(
  client: BerthClient,
  sessionId: string,
  signal?: AbortSignal,
  pace: { readonly maxDelayMs?: number } = {},
): AsyncGenerator<Preview, void, undefined> {
  const open = (options: { readonly signal?: AbortSignal | undefined }) =>
    client.events.openPreviews(sessionId, options)
  for await (const frames of followLive({ open, platform: client.platform, signal, ...pace })) {
    // Frames that came together are one change: only the last is the present.
    const preview = frames.at(-1)
    if (typeof preview === 'object' && preview !== null && 'activities' in preview) yield preview as Preview
  }
}
