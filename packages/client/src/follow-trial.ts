import type { CallOptions } from './call-options.ts'
import { type FollowLiveOptions, followLive } from './follow-live.ts'
import type { EnvironmentTrial, Event } from './generated/types.ts'

/** A frame of a trial's stream: its state, or an Event of its log. */
export type TrialFrame =
  | { readonly kind: 'trial'; readonly trial: EnvironmentTrial }
  | { readonly kind: 'event'; readonly event: Event }

export interface FollowTrialOptions extends Omit<FollowLiveOptions, 'open'> {
  /** Opens the stream behind a sequence. */
  open(after: number, options: CallOptions): Promise<Response>
}

/**
 * Yields the states and Events of a trial of an environment, each once, across broken connections. The last frame is the
 * trial that has ended. It ends earlier, without an error, when `signal` aborts.
 *
 * @throws BerthError if the service refuses for good (400, 401, 403, 404)
 */
export async function* followTrial(options: FollowTrialOptions): AsyncGenerator<TrialFrame, void, undefined> {
  let cursor = 0
  for await (const frames of followLive({ ...options, open: call => options.open(cursor, call) })) {
    for (const frame of frames as readonly TrialFrame[]) {
      if (frame.kind === 'event') {
        if (frame.event.sequence <= cursor) continue
        cursor = frame.event.sequence
        yield frame
      } else if (frame.kind === 'trial') {
        yield frame
        if (frame.trial.endedAt !== null) return
      }
    }
  }
}
