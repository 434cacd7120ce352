import { type BerthClient, type EnvironmentTrial, type Event, followTrial } from '@berth/client'
import { noticeOf, paceOf } from '../commands/interruption-notice.ts'
import type { Output } from '../output.ts'
import { isOfApply } from './apply-log.ts'

export interface Followed {
  readonly client: BerthClient
  readonly trial: EnvironmentTrial
  readonly signal: AbortSignal
  readonly stdout: Pick<Output, 'isTerminal'>
  /** Called with each Event of the apply, the last one included. */
  readonly show: (event: Event) => Promise<void>
  readonly notice: (text: string) => Promise<void>
}

/**
 * Follows a trial to its end.
 * @returns the trial that has ended; null if `signal` aborted first
 */
export async function followApply(followed: Followed): Promise<EnvironmentTrial | null> {
  const { client, trial, signal, stdout, show, notice } = followed
  const frames = followTrial({
    open: (after, options) =>
      client.call(
        'streamEnvironmentTrial',
        { environmentId: trial.environmentId, trialId: trial.id, query: { after } },
        { ...options, headers: { 'last-event-id': String(after) }, retry: { attempts: 1 } },
      ),
    platform: client.platform,
    signal,
    ...paceOf(stdout),
    onInterruption: interruption => {
      const text = noticeOf(interruption)
      if (text !== null) notice(text).catch(() => {})
    },
  })
  for await (const frame of frames) {
    if (frame.kind === 'event') {
      if (isOfApply(frame.event)) await show(frame.event)
    } else if (frame.trial.endedAt !== null) return frame.trial
  }
  return null
}
