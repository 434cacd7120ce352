import { reasonWords } from '@berth/client'
import type { EndRow } from '@berth/client/transcript'
import { formatDuration } from '@berth/client/transcript'
import { dollars } from '../ui/format.ts'

const verbs: Readonly<Record<EndRow['outcome'], string>> = {
  completed: 'Finished',
  failed: 'Failed',
  cancelled: 'Stopped',
  crashed: 'Failed',
}

/** Says in one line how a Run ended. */
export function outcomeText(row: Pick<EndRow, 'outcome' | 'errorCode' | 'stopReason' | 'turns'>): string {
  const why = reasonWords(row)
  if (why === '') return verbs[row.outcome]
  return `${row.outcome === 'completed' ? verbs.cancelled : verbs[row.outcome]}: ${why}`
}

/** Returns a Run's duration and cost; '' if neither is known. */
export function figuresText({
  durationMs,
  costUsd,
  costComplete,
}: Pick<EndRow, 'durationMs' | 'costUsd' | 'costComplete'>): string {
  const cost = costUsd === null ? null : `${costComplete ? '' : 'at least '}${dollars(costUsd)}`
  return [durationMs === null ? null : formatDuration(durationMs), cost].filter(part => part !== null).join(' · ')
}
