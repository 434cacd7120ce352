import { type BerthClient, type EnvironmentTrial, type Event, followTrial, type TrialOperations } from '@berth/client'
import { noticeOf, paceOf } from '../commands/interruption-notice.ts'
import type { Output } from '../output.ts'
import { isOfApply } from './apply-log.ts'

export interface Followed {
  readonly client: BerthClient
  readonly trials: TrialOperations
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
  const { client, trials, trial, signal, stdout, show, notice } = followed
  const frames = followTrial({
    open: (after, options) => trials.openStream(trial.environmentId, trial.id, after, options),
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
