import { followerOptions } from './call-options.ts'
import type { BerthClient } from './client.ts'
import { followLive } from './follow-live.ts'

/** How far a step has come. */
export interface StepProgress {
  readonly unit: 'bytes' | 'objects' | 'deltas' | 'files'
  readonly done: number
  readonly total?: number
  /** Bytes that have come, if another unit is counted. */
  readonly bytes?: number
}

/** The message that an agent is writing, and its tool calls in progress. It is not part of the log. */
export interface Preview {
  readonly message?: {
    readonly messageId: string
    readonly role: 'assistant' | 'reasoning'
    /** The whole text so far. */
    readonly text: string
  }
  readonly activities: readonly {
    readonly activityId: string
    readonly name: string
    readonly kind: string
    readonly title: string
    readonly startedAt: string
  }[]
  /** Steps before the agent begins that `svc.workspace.progress` has told of, by its `stepId`. */
  readonly steps?: readonly { readonly stepId: string; readonly title: string; readonly progress: StepProgress }[]
}

/**
 * Yields previews of a Session, each of them whole, across broken connections. A reader that misses some loses nothing:
 * the log has it all a little later. It ends without an error when `signal` aborts.
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
    client.call('streamPreviews', { sessionId }, { ...options, ...followerOptions })
  for await (const frames of followLive({ open, platform: client.platform, signal, ...pace })) {
    // Frames that came together are one change: only the last is the present.
    const preview = frames.at(-1)
    if (typeof preview === 'object' && preview !== null && 'activities' in preview) yield preview as Preview
  }
}
