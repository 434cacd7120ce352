import type { Context } from '../../context.ts'
import type { Chore } from '../../housekeeping/chore.ts'
import { stopLapsedTrials } from './stop-trial.ts'

const HALF_MINUTE_MS = 30_000

/** Returns the chore that stops trials past their bound, and those that nobody follows. */
export function trialChores(context: Pick<Context, 'db' | 'clock' | 'wakeups' | 'log'>): readonly Chore[] {
  return [
    {
      name: 'stop-trials',
      intervalMs: HALF_MINUTE_MS,
      work: async signal => {
        const stopped = await stopLapsedTrials(context, signal)
        if (stopped > 0) context.log.info({ stopped }, 'stopped trials of environments that were left or overdue')
      },
    },
  ]
}
